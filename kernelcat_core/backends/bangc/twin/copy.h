// __memcpy and __memcpy_async between memories, one-dimensional and with strides, and scalar loads and stores.
#pragma once
#include "core.h"

enum mluMemcpyDirection_t { GDRAM2GDRAM, GDRAM2SRAM, GDRAM2NRAM, GDRAM2WRAM, SRAM2GDRAM, SRAM2SRAM, SRAM2NRAM, SRAM2WRAM, NRAM2GDRAM, NRAM2SRAM, NRAM2NRAM, NRAM2WRAM, WRAM2GDRAM, WRAM2SRAM, WRAM2NRAM };

namespace twin {
inline void ends(mluMemcpyDirection_t d, Space &from, Space &to) {
    static const Space g = Space::gdram, s = Space::sram, n = Space::nram, w = Space::wram;
    static const Space table[][2] = {{g, g}, {g, s}, {g, n}, {g, w}, {s, g}, {s, s}, {s, n}, {s, w}, {n, g}, {n, s}, {n, n}, {n, w}, {w, g}, {w, s}, {w, n}};
    from = table[int(d)][0];
    to = table[int(d)][1];
}
inline int pipe_of(Space from, Space to) {
    if (from == Space::nram && to == Space::nram) return COMPUTE;
    return from == Space::gdram || to == Space::gdram ? IO : MOVE;
}
inline void one_end(const void *p, uint64_t bytes, Space space, bool write, int pipe, uint64_t seq, const char *op, int line) {
    if (space == Space::gdram) global(p, bytes, write, op, line);
    else operand(p, bytes, space, write, pipe, seq, op, line);
}
inline void copy(const char *op, void *dst, const void *src, uint64_t size, mluMemcpyDirection_t dir, uint64_t dst_stride, int64_t src_stride, uint64_t segments, bool strided, bool wait, int line) {
    Space from, to;
    ends(dir, from, to);
    int pipe = pipe_of(from, to);
    Core &c = core();
    bool on_mpu = (from == Space::sram || from == Space::gdram) && (to == Space::sram || to == Space::gdram);
    if (c.mpu && !on_mpu) fail("mpu-compute", line, std::string(op) + " to or from NRAM or WRAM on the memory core: return where __is_mpu()");
    if (size == 0) fail("copy-size", line, std::string(op) + " of 0 bytes");
    if (size > 0xFFFFFFFFull) fail("copy-size", line, std::string(op) + " of more than 4 GiB");
    for (const void *p : {static_cast<const void *>(dst), src}) {
        Array *a = array_at(p);
        if (a && a->space == Space::wram && reinterpret_cast<uint64_t>(p) % 8) fail("wram-alignment", line, std::string(op) + ": a WRAM address is not a multiple of 8 B");
    }
    if (!strided && (from == Space::wram || to == Space::wram) && size % 16) fail("wram-alignment", line, std::string(op) + " of " + std::to_string(size) + " bytes: not a multiple of 16 B for WRAM");
    if (strided && dst_stride < size) fail("copy-stride", line, std::string(op) + ": the stride of the destination is less than the size");
    if (strided && segments > 65536) fail("copy-segments", line, std::string(op) + ": more than 65536 segments");
    uint64_t seq = issue(pipe, op, line);
    uint8_t *d = static_cast<uint8_t *>(dst);
    const uint8_t *s = static_cast<const uint8_t *>(src);
    for (uint64_t k = 0; k < segments; ++k) one_end(s + int64_t(k) * src_stride, size, from, false, pipe, seq, op, line);
    for (uint64_t k = 0; k < segments; ++k) one_end(d + k * dst_stride, size, to, true, pipe, seq, op, line);
    auto move = [=] { for (uint64_t k = 0; k < segments; ++k) std::memmove(d + k * dst_stride, s + int64_t(k) * src_stride, size); };
    if (pipe == COMPUTE) { move(); return; }
    c.pending.push_back({pipe, move});
    if (wait) wait_for(pipe);
}
// The scalar unit's accesses have no 64-bit form.
constexpr uint32_t kScalars = kHalf | kFloat | kI8 | kU8 | kI16 | kU16 | kI32 | kU32 | (__BANG_ARCH__ >= 520 ? kBf16 : 0u);
/// Scalar accesses: NRAM through the Compute pipe, global memory through the IO pipe.
template <class T> T load(const T *p, bool near, const char *op, int line) {
    need_dtype<T>(op, kScalars, line);
    uint64_t seq = issue(near ? COMPUTE : IO, op, line);
    if (near) operand(p, sizeof(T), Space::nram, false, COMPUTE, seq, op, line);
    else { global(p, sizeof(T), false, op, line); land(IO); }
    T value;
    std::memcpy(static_cast<void *>(&value), p, sizeof(T));
    return value;
}
template <class T> void store(T *p, T value, bool near, const char *op, int line) {
    need_dtype<T>(op, kScalars, line);
    uint64_t seq = issue(near ? COMPUTE : IO, op, line);
    if (near) operand(p, sizeof(T), Space::nram, true, COMPUTE, seq, op, line);
    else { global(p, sizeof(T), true, op, line); land(IO); }
    std::memcpy(static_cast<void *>(p), &value, sizeof(T));
}
/// dst[i] = f(dst[i], value) for global memory, in one piece; those of different tasks may meet.
template <class T, class F> void renew(const char *op, T *dst, T value, uint32_t size, int line, F f) {
    uint64_t bytes = uint64_t(size) * sizeof(T);
    if (size < 1) fail("count", line, std::string(op) + " of 0 elements");
    if (reinterpret_cast<uint64_t>(dst) % sizeof(T)) fail("gdram-alignment", line, std::string(op) + ": the address is not a multiple of the element size");
    issue(IO, op, line);
    int i = region_of(dst, bytes, true, op, line);
    uint64_t at = uint64_t(reinterpret_cast<uint8_t *>(dst) - (*core().regions)[size_t(i)].base);
    land(IO);
    core().renewed.push_back({i, at, at + bytes, core().task, line});
    for (uint32_t k = 0; k < size; ++k) dst[k] = f(dst[k], value);
}
}  // namespace twin

inline void __memcpy(void *dst, const void *src, uint64_t size, mluMemcpyDirection_t dir, int line = __builtin_LINE()) { twin::copy("__memcpy", dst, src, size, dir, 0, 0, 1, false, true, line); }
inline void __memcpy(void *dst, const void *src, uint64_t size, mluMemcpyDirection_t dir, uint64_t dst_stride, int64_t src_stride, uint64_t segnum, int line = __builtin_LINE()) { twin::copy("__memcpy", dst, src, size, dir, dst_stride, src_stride, segnum + 1, true, true, line); }
inline void __memcpy_async(void *dst, const void *src, uint64_t size, mluMemcpyDirection_t dir, int line = __builtin_LINE()) { twin::copy("__memcpy_async", dst, src, size, dir, 0, 0, 1, false, false, line); }
inline void __memcpy_async(void *dst, const void *src, uint64_t size, mluMemcpyDirection_t dir, uint64_t dst_stride, int64_t src_stride, uint64_t segnum, int line = __builtin_LINE()) { twin::copy("__memcpy_async", dst, src, size, dir, dst_stride, src_stride, segnum + 1, true, false, line); }

template <class T> T __load_nram(const T *p, int line = __builtin_LINE()) { return twin::load(p, true, "__load_nram", line); }
template <class T> T __load_gdram(const T *p, int line = __builtin_LINE()) { return twin::load(p, false, "__load_gdram", line); }
template <class T> void __store_nram(T *p, T value, int line = __builtin_LINE()) { twin::store(p, value, true, "__store_nram", line); }
template <class T> void __store_gdram(T *p, T value, int line = __builtin_LINE()) { twin::store(p, value, false, "__store_gdram", line); }
