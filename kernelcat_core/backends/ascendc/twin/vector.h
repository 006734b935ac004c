// Vector arithmetic: dst[i] = f(a[i], b[i]) by element count, and by mask and repeats with block strides.
#pragma once
#include <cmath>
#include "tensor.h"

namespace AscendC {
struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    BinaryRepeatParams() = default;
    BinaryRepeatParams(uint8_t db, uint8_t ab, uint8_t bb, uint8_t dr, uint8_t ar, uint8_t br) : dstBlkStride(db), src0BlkStride(ab), src1BlkStride(bb), dstRepStride(dr), src0RepStride(ar), src1RepStride(br) {}
};
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t block, uint16_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
};
}  // namespace AscendC

namespace twin {
using AscendC::LocalTensor;
/// Arithmetic type of one lane: halves compute in float and round once; integers wrap in their own width.
template <class T> using Lane = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>, float, T>;
template <class T> T wrap_add(T a, T b) { if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)); else return a + b; }
template <class T> T wrap_sub(T a, T b) { if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b)); else return a - b; }
template <class T> T bit_and(T a, T b) { if constexpr (std::is_integral_v<T>) return T(a & b); else return a; }
template <class T> T bit_or(T a, T b) { if constexpr (std::is_integral_v<T>) return T(a | b); else return a; }
template <class T> T bit_not(T a) { if constexpr (std::is_integral_v<T>) return T(~a); else return a; }
template <class T> T wrap_mul(T a, T b) { if constexpr (std::is_integral_v<T>) return T(uint64_t(a) * uint64_t(b)); else return a * b; }

/// Checks one operand of a vector instruction that covers `elements` of `size` bytes from its start, and logs the access.
inline void operand_bytes(const AscendC::LocalWindow &t, int64_t elements, uint64_t size, bool write, uint64_t seq, const char *op, int line) {
    t.usable(PIPE_V, write, line, op);
    if (t.offset % kBlock) fail("operand-alignment", line, std::string(op) + ": a UB address is not a multiple of 32 B");
    if (uint64_t(elements) * size > t.bytes_left()) fail("ub-bounds", line, std::string(op) + " of " + std::to_string(elements) + " elements on a LocalTensor of " + std::to_string(t.bytes_left() / size));
    touch(*t.buffer, PIPE_V, write, t.offset, t.offset + uint64_t(elements) * size, seq, line);
}
template <class T> void operand(const LocalTensor<T> &t, int64_t elements, bool write, uint64_t seq, const char *op, int line) {
    operand_bytes(t, elements, sizeof(T), write, seq, op, line);
}
/// Source and destination are identical or disjoint.
inline void apart_bytes(const AscendC::LocalWindow &d, uint64_t nd, const AscendC::LocalWindow &s, uint64_t ns, const char *op, int line, bool same_is_legal) {
    if (d.buffer != s.buffer || (d.offset == s.offset && same_is_legal)) return;
    if (d.offset < s.offset + ns && s.offset < d.offset + nd) fail("operand-overlap", line, std::string(op) + ": source and destination overlap but are not the same");
}
template <class T, class U> void apart(const LocalTensor<T> &d, int64_t nd, const LocalTensor<U> &s, int64_t ns, const char *op, int line, bool same_is_legal = true) {
    apart_bytes(d, uint64_t(nd) * sizeof(T), s, uint64_t(ns) * sizeof(U), op, line, same_is_legal && sizeof(T) == sizeof(U));
}
inline void check_lanes(int64_t count, const char *op, int line) {
    if (count < 1) fail("count", line, std::string(op) + " of " + std::to_string(count) + " elements");
}
template <class T> void check_repeat(uint64_t mask, int repeat, const char *op, int line) {
    if (mask < 1 || mask > 256 / sizeof(T)) fail("mask", line, std::string(op) + ": mask " + std::to_string(mask) + " is not in 1.." + std::to_string(256 / sizeof(T)));
    if (repeat < 1 || repeat > 255) fail("repeat", line, std::string(op) + ": repeat " + std::to_string(repeat) + " is not in 1..255");
}
/// Element index of lane `i` in repeat `r`, strides in 32 B blocks.
template <class T> int64_t lane(int r, int64_t i, int64_t block_stride, int64_t repeat_stride) {
    constexpr int64_t per = kBlock / sizeof(T);
    return (r * repeat_stride + i / per * block_stride) * per + i % per;
}
template <class T> int64_t reach(uint64_t mask, int repeat, int64_t block_stride, int64_t repeat_stride) {
    return lane<T>(repeat - 1, int64_t(mask) - 1, block_stride, repeat_stride) / int64_t(kBlock / sizeof(T)) * int64_t(kBlock / sizeof(T)) + int64_t(kBlock / sizeof(T));
}
/// The checks of dst = f(a) and dst = f(a, b) by count, for any dtype.
inline void check_elementwise(const AscendC::LocalWindow &d, const AscendC::LocalWindow &a, const AscendC::LocalWindow *b, int64_t count, uint64_t size, const char *op, int line) {
    check_lanes(count, op, line);
    uint64_t bytes = uint64_t(count) * size, seq = issue(PIPE_V);
    apart_bytes(d, bytes, a, bytes, op, line, true);
    if (b) apart_bytes(d, bytes, *b, bytes, op, line, true);
    operand_bytes(a, count, size, false, seq, op, line);
    if (b) operand_bytes(*b, count, size, false, seq, op, line);
    operand_bytes(d, count, size, true, seq, op, line);
}
template <class T, class F> void unary(const char *op, uint32_t legal, const LocalTensor<T> &d, const LocalTensor<T> &a, int64_t count, int line, F f) {
    need_dtype<T>(op, legal, line);
    check_elementwise(d, a, nullptr, count, sizeof(T), op, line);
    T *q = d.data();
    const T *p = a.data();
    for (int64_t i = 0; i < count; ++i) q[i] = T(f(Lane<T>(p[i])));
}
template <class T, class F> void binary(const char *op, uint32_t legal, const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, int64_t count, int line, F f) {
    need_dtype<T>(op, legal, line);
    check_elementwise(d, a, &b, count, sizeof(T), op, line);
    T *q = d.data();
    const T *p = a.data(), *s = b.data();
    for (int64_t i = 0; i < count; ++i) q[i] = T(f(Lane<T>(p[i]), Lane<T>(s[i])));
}
template <class T, class F> void binary_repeat(const char *op, uint32_t legal, const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, uint64_t mask, int repeat, const AscendC::BinaryRepeatParams &p, int line, F f) {
    need_dtype<T>(op, legal, line);
    check_repeat<T>(mask, repeat, op, line);
    int64_t nd = reach<T>(mask, repeat, p.dstBlkStride, p.dstRepStride), na = reach<T>(mask, repeat, p.src0BlkStride, p.src0RepStride), nb = reach<T>(mask, repeat, p.src1BlkStride, p.src1RepStride);
    apart(d, nd, a, na, op, line, p.dstBlkStride == p.src0BlkStride && p.dstRepStride == p.src0RepStride);
    apart(d, nd, b, nb, op, line, p.dstBlkStride == p.src1BlkStride && p.dstRepStride == p.src1RepStride);
    uint64_t seq = issue(PIPE_V);
    operand(a, na, false, seq, op, line);
    operand(b, nb, false, seq, op, line);
    for (int r = 0; r < repeat; ++r) {                            // rows of a tile are apart, so log each repeat by itself
        int64_t first = lane<T>(r, 0, p.dstBlkStride, p.dstRepStride), span = reach<T>(mask, 1, p.dstBlkStride, p.dstRepStride);
        operand(LocalTensor<T>(d.buffer, uint32_t(d.offset + uint64_t(first) * sizeof(T)), d.generation), span, true, seq, op, line);
    }
    for (int r = 0; r < repeat; ++r) for (int64_t i = 0; i < int64_t(mask); ++i) {
        Lane<T> x = a.data()[lane<T>(r, i, p.src0BlkStride, p.src0RepStride)], y = b.data()[lane<T>(r, i, p.src1BlkStride, p.src1RepStride)];
        d.data()[lane<T>(r, i, p.dstBlkStride, p.dstRepStride)] = T(f(x, y));
    }
}
constexpr uint32_t kFloats = kHalf | kFloat, kArith = kHalf | kFloat | kI16 | kI32;
}  // namespace twin

namespace AscendC {
#define KC_TWIN_BINARY(NAME, LEGAL, EXPR) \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, int32_t count, int line = __builtin_LINE()) { \
        twin::binary(#NAME, LEGAL, d, a, b, count, line, [](auto x, auto y) { return EXPR; }); } \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, uint64_t mask, uint8_t repeat, const BinaryRepeatParams &p, int line = __builtin_LINE()) { \
        twin::binary_repeat(#NAME, LEGAL, d, a, b, mask, repeat, p, line, [](auto x, auto y) { return EXPR; }); }
KC_TWIN_BINARY(Add, twin::kArith, twin::wrap_add(x, y))
KC_TWIN_BINARY(Sub, twin::kArith, twin::wrap_sub(x, y))
KC_TWIN_BINARY(Mul, twin::kArith, twin::wrap_mul(x, y))
KC_TWIN_BINARY(Div, twin::kFloats, x / y)
KC_TWIN_BINARY(Max, twin::kArith, (x > y || x != x) ? x : y)
KC_TWIN_BINARY(Min, twin::kArith, (x < y || x != x) ? x : y)
#undef KC_TWIN_BINARY
#define KC_TWIN_BITS(NAME, EXPR) \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, int32_t count, int line = __builtin_LINE()) { \
        twin::binary(#NAME, twin::kI16 | twin::kU16, d, a, b, count, line, [](auto x, auto y) { return EXPR; }); }
KC_TWIN_BITS(And, twin::bit_and(x, y))
KC_TWIN_BITS(Or, twin::bit_or(x, y))
#undef KC_TWIN_BITS
#define KC_TWIN_UNARY(NAME, LEGAL, EXPR) \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, int32_t count, int line = __builtin_LINE()) { \
        twin::unary(#NAME, LEGAL, d, a, count, line, [](auto x) { return EXPR; }); }
KC_TWIN_UNARY(Exp, twin::kFloats, std::exp(x))
KC_TWIN_UNARY(Ln, twin::kFloats, std::log(x))
KC_TWIN_UNARY(Sqrt, twin::kFloats, std::sqrt(x))
KC_TWIN_UNARY(Rsqrt, twin::kFloats, 1 / std::sqrt(x))
KC_TWIN_UNARY(Reciprocal, twin::kFloats, 1 / x)
KC_TWIN_UNARY(Abs, twin::kFloats, std::fabs(x))
KC_TWIN_UNARY(Relu, twin::kFloats | twin::kI32, x > 0 ? x : decltype(x)(0))
KC_TWIN_UNARY(Not, twin::kI16 | twin::kU16, twin::bit_not(x))
#undef KC_TWIN_UNARY
#define KC_TWIN_SCALAR(NAME, LEGAL, EXPR) \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, const T &scalar, int32_t count, int line = __builtin_LINE()) { \
        twin::Lane<T> y = scalar; \
        twin::unary(#NAME, LEGAL, d, a, count, line, [y](auto x) { return EXPR; }); }
KC_TWIN_SCALAR(Adds, twin::kArith, twin::wrap_add(x, y))
KC_TWIN_SCALAR(Muls, twin::kArith, twin::wrap_mul(x, y))
KC_TWIN_SCALAR(Maxs, twin::kArith, (x > y || x != x) ? x : y)
KC_TWIN_SCALAR(Mins, twin::kArith, (x < y || x != x) ? x : y)
KC_TWIN_SCALAR(LeakyRelu, twin::kFloats, x >= 0 ? x : x * y)
#undef KC_TWIN_SCALAR
/// d += a * scalar, rounded after the product and after the sum.
template <class T> void Axpy(const LocalTensor<T> &d, const LocalTensor<T> &a, const T &scalar, int32_t count, int line = __builtin_LINE()) {
    twin::Lane<T> s = scalar;
    twin::binary("Axpy", twin::kFloats, d, d, a, count, line, [s](auto x, auto y) { return twin::wrap_add(x, decltype(x)(T(twin::wrap_mul(y, s)))); });
}
template <class T> void Duplicate(const LocalTensor<T> &d, const T &value, int32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("Duplicate", twin::kHalf | twin::kFloat | twin::kBf16 | twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32, line);
    twin::check_lanes(count, "Duplicate", line);
    twin::operand(d, count, true, twin::issue(PIPE_V), "Duplicate", line);
    std::fill(d.data(), d.data() + count, value);
}
inline float ToFloat(const bfloat16_t &value) { return value; }
inline bfloat16_t ToBfloat16(const float &value) { return bfloat16_t(value); }
/// d[i] = first + i
template <class T> void CreateVecIndex(const LocalTensor<T> &d, const T &first, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("CreateVecIndex", twin::kArith, line);
    twin::check_lanes(count, "CreateVecIndex", line);
    twin::operand(d, count, true, twin::issue(PIPE_V), "CreateVecIndex", line);
    for (uint32_t i = 0; i < count; ++i) d.data()[i] = T(twin::Lane<T>(first) + twin::Lane<T>(i));
}
/// Each of 8 elements a repeat is spread over one 32 B block.
template <class T> void Brcb(const LocalTensor<T> &d, const LocalTensor<T> &a, uint8_t repeat, const BrcbRepeatParams &p, int line = __builtin_LINE()) {
    twin::need_dtype<T>("Brcb", twin::kHalf | twin::kFloat | twin::kBf16 | twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32, line);
    if (repeat < 1) twin::fail("repeat", line, "Brcb: repeat 0");
    constexpr int64_t per = twin::kBlock / sizeof(T);
    int64_t nd = (int64_t(repeat - 1) * p.dstRepStride + 7 * p.dstBlkStride + 1) * per;
    twin::apart(d, nd, a, repeat * 8, "Brcb", line, false);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(a, repeat * 8, false, seq, "Brcb", line);
    twin::operand(d, nd, true, seq, "Brcb", line);
    for (int r = 0; r < repeat; ++r) for (int b = 0; b < 8; ++b) std::fill_n(d.data() + (r * p.dstRepStride + b * p.dstBlkStride) * per, per, a.data()[r * 8 + b]);
}
}  // namespace AscendC
