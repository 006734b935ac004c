// DataCopy and DataCopyPad: GM -> UB on pipe MTE2, UB -> GM on pipe MTE3, UB -> UB on the vector pipe.
#pragma once
#include "tensor.h"

namespace AscendC {
struct DataCopyParams { uint16_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0; };
struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t length, uint32_t src, uint32_t dst, uint32_t reserved) : blockCount(count), blockLen(length), srcStride(src), dstStride(dst), rsv(reserved) {}
};
template <class T> struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value) : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};
}  // namespace AscendC

namespace twin {
using AscendC::DataCopyExtParams;
inline void gm_read(int region, uint64_t lo, uint64_t hi, int pipe, int line) {
    Core &c = core();
    if (!(*c.regions)[size_t(region)].writable) return;
    for (size_t i = 0; i < c.stores.size(); ++i) {
        if (c.store_region[i] == region && c.stores[i].lo < hi && lo < c.stores[i].hi && !ordered(c.stores[i], pipe)) hazard(c.stores[i], pipe, false, line, "global memory");
    }
    c.read.push_back({region, lo, hi, c.block, line});
}
inline void gm_write(int region, uint64_t lo, uint64_t hi, uint64_t seq, int line) {
    Core &c = core();
    if (!(*c.regions)[size_t(region)].writable) fail("gm-readonly", line, "a copy writes an input tensor");
    c.stores.push_back({PIPE_MTE3, true, lo, hi, seq, c.epoch, line});
    c.store_region.push_back(region);
    if (!c.wrote.empty() && c.wrote.back().region == region && c.wrote.back().hi == lo) c.wrote.back().hi = hi;
    else c.wrote.push_back({region, lo, hi, c.block, line});
}
/// One strided transfer, in bytes. Strides are gaps between the end of a block and the start of the next on either side.
struct Transfer { bool load; uint32_t blocks; uint64_t length, gm_gap, ub_gap, size; bool pad; uint64_t left, right; uint8_t value[8]; };
inline void transfer(const AscendC::LocalWindow &local, uint8_t *gm, int region, uint64_t gm_bytes, const Transfer &t, const char *op, int line) {
    int pipe = t.load ? PIPE_MTE2 : PIPE_MTE3;
    local.usable(pipe, t.load, line, op);
    if (local.offset % kBlock) fail("dma-alignment", line, std::string(op) + ": UB address is not a multiple of 32 B");
    if (region < 0) fail("gm-bounds", line, std::string(op) + " with a GlobalTensor that was not set");
    if (t.length % t.size) fail("dma-params", line, std::string(op) + ": block length is not a whole number of elements");
    uint64_t seq = issue(pipe), room = round_up(t.length + t.left), place = uint64_t(gm - (*core().regions)[size_t(region)].base);
    if (t.pad && (t.left > kBlock || t.right > kBlock || t.left + t.length + t.right > room)) fail("dma-params", line, std::string(op) + ": padding leaves the last 32 B block");
    for (uint32_t i = 0; i < t.blocks; ++i) {
        uint64_t g = i * (t.length + t.gm_gap), u = i * (room + t.ub_gap);
        if (g + t.length > gm_bytes) fail("gm-bounds", line, std::string(op) + ": block " + std::to_string(i) + " ends " + std::to_string((g + t.length) / t.size) + " elements into a GlobalTensor of " + std::to_string(gm_bytes / t.size));
        if (u + (t.load ? room : t.length) > local.bytes_left()) fail("ub-bounds", line, std::string(op) + ": block " + std::to_string(i) + " leaves the UB buffer of " + std::to_string(local.bytes_left()) + " bytes");
        if (t.load) gm_read(region, place + g, place + g + t.length, pipe, line); else gm_write(region, place + g, place + g + t.length, seq, line);
    }
    uint64_t span = t.blocks ? uint64_t(t.blocks - 1) * (room + t.ub_gap) + room : 0;
    touch(*local.buffer, pipe, t.load, local.offset, std::min<uint64_t>(local.offset + span, local.buffer->bytes.size()), seq, line);
    uint8_t *ub = local.buffer->bytes.data() + local.offset;
    core().pending.push_back({pipe, seq, [=] {
        for (uint32_t i = 0; i < t.blocks; ++i) {
            uint8_t *u = ub + i * (room + t.ub_gap), *g = gm + i * (t.length + t.gm_gap);
            if (!t.load) { std::memcpy(g, u, t.length); continue; }
            std::memset(u, 0xFF, room);                          // what no value was asked for is poison
            std::memcpy(u + t.left, g, t.length);
            if (!t.pad) continue;
            for (uint64_t k = 0; k < t.left; k += t.size) std::memcpy(u + k, t.value, t.size);
            for (uint64_t k = 0; k < t.right; k += t.size) std::memcpy(u + t.left + t.length + k, t.value, t.size);
        }
    }});
}
template <class T> void transfer(const AscendC::LocalTensor<T> &local, const AscendC::GlobalTensor<T> &global, bool load, uint32_t blocks, uint64_t length,
                                 uint64_t gm_gap, uint64_t ub_gap, const AscendC::DataCopyPadExtParams<T> &pad, const char *op, int line) {
    Transfer t{load, blocks, length, gm_gap, ub_gap, sizeof(T), pad.isPad, pad.leftPadding * sizeof(T), pad.rightPadding * sizeof(T), {}};
    std::memcpy(t.value, &pad.paddingValue, sizeof(T));
    transfer(local, global.base, global.region, global.count * sizeof(T), t, op, line);
}
inline void check_pad(const DataCopyExtParams &p, const char *op, int line) {
    if (p.blockCount < 1 || p.blockCount > 4095) fail("dma-params", line, std::string(op) + ": blockCount is not in 1..4095");
    if (p.blockLen < 1 || p.blockLen > 2097151) fail("dma-params", line, std::string(op) + ": blockLen is not in 1..2097151 bytes");
}
inline void check_bytes(uint64_t bytes, const char *op, int line) {
    if (bytes == 0) fail("dma-params", line, std::string(op) + " of 0 elements");
    if (bytes % kBlock) fail("dma-alignment", line, std::string(op) + " of " + std::to_string(bytes) + " bytes: not a multiple of 32 B (use DataCopyPad)");
}
}  // namespace twin

namespace AscendC {
constexpr uint32_t kCopyDtypes = twin::kHalf | twin::kFloat | twin::kBf16 | twin::kI8 | twin::kU8 | twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32 | twin::kI64 | twin::kU64 | twin::kF64;
template <class T> void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("DataCopy", kCopyDtypes, line);
    twin::check_bytes(uint64_t(count) * sizeof(T), "DataCopy", line);
    twin::transfer(dst, src, true, 1, uint64_t(count) * sizeof(T), 0, 0, DataCopyPadExtParams<T>(), "DataCopy", line);
}
template <class T> void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("DataCopy", kCopyDtypes, line);
    twin::check_bytes(uint64_t(count) * sizeof(T), "DataCopy", line);
    twin::transfer(src, dst, false, 1, uint64_t(count) * sizeof(T), 0, 0, DataCopyPadExtParams<T>(), "DataCopy", line);
}
template <class T> void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count, int line = __builtin_LINE()) {
    twin::check_bytes(uint64_t(count) * sizeof(T), "DataCopy", line);
    if (dst.offset % twin::kBlock || src.offset % twin::kBlock) twin::fail("operand-alignment", line, "DataCopy: a UB address is not a multiple of 32 B");
    uint64_t bytes = uint64_t(count) * sizeof(T), seq = twin::issue(PIPE_V);
    src.usable(PIPE_V, false, line, "DataCopy");
    dst.usable(PIPE_V, true, line, "DataCopy");
    if (bytes > src.bytes_left() || bytes > dst.bytes_left()) twin::fail("ub-bounds", line, "DataCopy leaves its UB buffer");
    twin::touch(*src.buffer, PIPE_V, false, src.offset, src.offset + bytes, seq, line);
    twin::touch(*dst.buffer, PIPE_V, true, dst.offset, dst.offset + bytes, seq, line);
    std::memmove(dst.data(), src.data(), bytes);
}
template <class T> void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &p, const DataCopyPadExtParams<T> &pad, int line = __builtin_LINE()) {
    twin::need_dtype<T>("DataCopyPad", kCopyDtypes, line);
    twin::check_pad(p, "DataCopyPad", line);
    twin::transfer(dst, src, true, p.blockCount, p.blockLen, p.srcStride, uint64_t(p.dstStride) * twin::kBlock, pad, "DataCopyPad", line);
}
template <class T> void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &p, int line = __builtin_LINE()) {
    twin::need_dtype<T>("DataCopyPad", kCopyDtypes, line);
    twin::check_pad(p, "DataCopyPad", line);
    twin::transfer(src, dst, false, p.blockCount, p.blockLen, p.dstStride, uint64_t(p.srcStride) * twin::kBlock, DataCopyPadExtParams<T>(), "DataCopyPad", line);
}
}  // namespace AscendC
