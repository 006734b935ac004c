// Compare, Select, Cast and Gather. A comparison gives one bit an element, lowest bit first; with a NaN it is false but
// for NE (IEEE 754; the reference does not say).
#pragma once
#include "vector.h"

namespace AscendC {
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
}  // namespace AscendC

namespace twin {
using AscendC::CMPMODE;
using AscendC::RoundMode;
template <class L> bool compare(L x, L y, CMPMODE mode) {
    switch (mode) {
        case CMPMODE::LT: return x < y;
        case CMPMODE::GT: return x > y;
        case CMPMODE::EQ: return x == y;
        case CMPMODE::LE: return x <= y;
        case CMPMODE::GE: return x >= y;
        default: return x != y;
    }
}
template <class T> void check_compare(CMPMODE mode, uint32_t count, const char *op, int line) {
    need_dtype<T>(op, kFloats | kI32, line);
    if (std::is_same_v<T, int32_t> && mode != CMPMODE::EQ) fail("dtype", line, std::string(op) + " of int32_t knows EQ only");
    check_lanes(count, op, line);
    if (count * sizeof(T) % 256) fail("compare-count", line, std::string(op) + " of " + std::to_string(count * sizeof(T)) + " bytes: not a multiple of 256 B");
}
template <class U, class F> void write_bits(const AscendC::LocalTensor<U> &d, uint32_t count, F bit) {
    uint8_t *q = reinterpret_cast<uint8_t *>(d.data());
    for (uint32_t g = 0; g < count / 8; ++g) {
        uint8_t byte = 0;
        for (uint32_t k = 0; k < 8; ++k) byte = uint8_t(byte | (bit(g * 8 + k) ? 1u << k : 0u));
        q[g] = byte;
    }
}
template <class U> bool read_bit(const AscendC::LocalTensor<U> &m, int64_t i) { return reinterpret_cast<const uint8_t *>(m.data())[i / 8] >> (i % 8) & 1; }
template <class U> int64_t mask_elements(int64_t count) { return (count + 8 * int64_t(sizeof(U)) - 1) / (8 * int64_t(sizeof(U))); }

constexpr uint32_t mode_bit(RoundMode m) { return 1u << uint32_t(m); }
constexpr uint32_t kExact = mode_bit(RoundMode::CAST_NONE);
constexpr uint32_t kRounds = mode_bit(RoundMode::CAST_RINT) | mode_bit(RoundMode::CAST_FLOOR) | mode_bit(RoundMode::CAST_CEIL) | mode_bit(RoundMode::CAST_ROUND) | mode_bit(RoundMode::CAST_TRUNC);
/// The round modes in which a conversion exists (arch 2201); 0 when it does not.
inline uint32_t cast_modes(uint32_t from, uint32_t to) {
    switch (from) {
        case kFloat:
            if (to == kFloat) return kRounds;
            if (to == kHalf) return kRounds | kExact | mode_bit(RoundMode::CAST_ODD);
            return to == kI64 || to == kI32 || to == kI16 || to == kBf16 ? kRounds : 0;
        case kHalf:
            if (to == kFloat) return kExact;
            if (to == kI32 || to == kI16) return kRounds;
            return to == kI8 || to == kU8 ? kRounds | kExact : 0;
        case kBf16: return to == kFloat ? kExact : to == kI32 ? kRounds : 0;
        case kU8: case kI8: return to == kHalf ? kExact : 0;
        case kI16: return to == kHalf ? kRounds | kExact : to == kFloat ? kExact : 0;
        case kI32: return to == kFloat ? kRounds | kExact : to == kI64 || to == kI16 ? kExact : 0;
        case kI64: return to == kI32 ? kExact : to == kFloat ? kRounds : 0;
        default: return 0;
    }
}
inline double round_to_whole(double x, RoundMode m) {
    switch (m) {
        case RoundMode::CAST_FLOOR: return std::floor(x);
        case RoundMode::CAST_CEIL: return std::ceil(x);
        case RoundMode::CAST_ROUND: return std::round(x);
        case RoundMode::CAST_TRUNC: return std::trunc(x);
        default: return std::nearbyint(x);
    }
}
/// Float to integer saturates; NaN becomes 0. Narrowing integers saturate too (the default mode of the core).
template <class T, class S> T convert(S value, RoundMode mode, int line) {
    if constexpr (std::is_integral_v<T>) {
        constexpr double low = double(std::numeric_limits<T>::min()), high = double(std::numeric_limits<T>::max());
        if constexpr (std::is_integral_v<S>) {
            if (sizeof(T) >= sizeof(S)) return T(value);
            int64_t v = int64_t(value), lo = int64_t(std::numeric_limits<T>::min()), hi = int64_t(std::numeric_limits<T>::max());
            return T(v < lo ? lo : v > hi ? hi : v);
        } else {
            double x = round_to_whole(double(Lane<S>(value)), mode);
            if (x != x) return T(0);
            return x <= low ? std::numeric_limits<T>::min() : x >= high ? std::numeric_limits<T>::max() : T(x);
        }
    } else if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>) {
        return float(round_to_whole(value, mode));
    } else {
        if constexpr (!std::is_same_v<T, float>) if (mode != RoundMode::CAST_RINT && mode != RoundMode::CAST_NONE) fail("not-modelled", line, "Cast to a 16-bit float by a mode other than CAST_RINT");
        return T(float(value));
    }
}
}  // namespace twin

namespace AscendC {
template <class U, class T> void Compare(const LocalTensor<U> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, CMPMODE mode, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<U>("Compare (destination)", twin::kU8 | twin::kI8, line);
    twin::check_compare<T>(mode, count, "Compare", line);
    twin::apart(d, count / 8, a, count, "Compare", line);
    twin::apart(d, count / 8, b, count, "Compare", line);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(a, count, false, seq, "Compare", line);
    twin::operand(b, count, false, seq, "Compare", line);
    twin::operand(d, count / 8, true, seq, "Compare", line);
    using L = twin::Lane<T>;
    twin::write_bits(d, count, [&](uint32_t i) { return twin::compare(L(a.data()[i]), L(b.data()[i]), mode); });
}
template <class U, class T> void CompareScalar(const LocalTensor<U> &d, const LocalTensor<T> &a, const T &scalar, CMPMODE mode, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<U>("CompareScalar (destination)", twin::kU8 | twin::kI8, line);
    twin::check_compare<T>(mode, count, "CompareScalar", line);
    twin::apart(d, count / 8, a, count, "CompareScalar", line);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(a, count, false, seq, "CompareScalar", line);
    twin::operand(d, count / 8, true, seq, "CompareScalar", line);
    using L = twin::Lane<T>;
    twin::write_bits(d, count, [&](uint32_t i) { return twin::compare(L(a.data()[i]), L(scalar), mode); });
}
template <class T, class U> void Select(const LocalTensor<T> &d, const LocalTensor<U> &mask, const LocalTensor<T> &a, const LocalTensor<T> &b, SELMODE mode, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("Select", twin::kFloats, line);
    if (mode != SELMODE::VSEL_TENSOR_TENSOR_MODE) twin::fail("select-mode", line, "Select of two tensors by count needs VSEL_TENSOR_TENSOR_MODE here");
    twin::check_lanes(count, "Select", line);
    twin::apart(d, count, a, count, "Select", line);
    twin::apart(d, count, b, count, "Select", line);
    twin::apart(d, count, mask, twin::mask_elements<U>(count), "Select", line, false);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(mask, twin::mask_elements<U>(count), false, seq, "Select", line);
    twin::operand(a, count, false, seq, "Select", line);
    twin::operand(b, count, false, seq, "Select", line);
    twin::operand(d, count, true, seq, "Select", line);
    for (uint32_t i = 0; i < count; ++i) d.data()[i] = twin::read_bit(mask, i) ? a.data()[i] : b.data()[i];
}
template <class T, class U> void Select(const LocalTensor<T> &d, const LocalTensor<U> &mask, const LocalTensor<T> &a, T scalar, SELMODE mode, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("Select", twin::kFloats, line);
    if (mode != SELMODE::VSEL_TENSOR_SCALAR_MODE) twin::fail("select-mode", line, "Select of a tensor and a scalar needs VSEL_TENSOR_SCALAR_MODE");
    twin::check_lanes(count, "Select", line);
    twin::apart(d, count, a, count, "Select", line);
    twin::apart(d, count, mask, twin::mask_elements<U>(count), "Select", line, false);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(mask, twin::mask_elements<U>(count), false, seq, "Select", line);
    twin::operand(a, count, false, seq, "Select", line);
    twin::operand(d, count, true, seq, "Select", line);
    for (uint32_t i = 0; i < count; ++i) d.data()[i] = twin::read_bit(mask, i) ? a.data()[i] : scalar;
}
template <class T, class S> void Cast(const LocalTensor<T> &d, const LocalTensor<S> &a, RoundMode mode, uint32_t count, int line = __builtin_LINE()) {
    uint32_t modes = twin::cast_modes(twin::dtype_bit<S>(), twin::dtype_bit<T>());
    if (!modes) twin::fail("dtype", line, std::string("Cast has no ") + twin::dtype_name(twin::dtype_bit<S>()) + " -> " + twin::dtype_name(twin::dtype_bit<T>()) + " form on this core");
    if (!(modes & twin::mode_bit(mode))) twin::fail("round-mode", line, "this Cast does not have this RoundMode");
    twin::check_lanes(count, "Cast", line);
    twin::apart(d, count, a, count, "Cast", line);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(a, count, false, seq, "Cast", line);
    twin::operand(d, count, true, seq, "Cast", line);
    for (uint32_t i = 0; i < count; ++i) d.data()[i] = twin::convert<T, S>(a.data()[i], mode, line);
}
/// d[i] = the element at byte base + offsets[i] of src.
template <class T> void Gather(const LocalTensor<T> &d, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offsets, uint32_t base, uint32_t count, int line = __builtin_LINE()) {
    twin::need_dtype<T>("Gather", twin::kHalf | twin::kFloat | twin::kBf16 | twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32, line);
    twin::check_lanes(count, "Gather", line);
    twin::apart(d, count, src, src.GetSize(), "Gather", line, false);
    twin::apart(d, count, offsets, count, "Gather", line, false);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(offsets, count, false, seq, "Gather", line);
    twin::operand(src, src.GetSize(), false, seq, "Gather", line);
    twin::operand(d, count, true, seq, "Gather", line);
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t at = uint64_t(base) + offsets.data()[i];
        if (at % sizeof(T) || at + sizeof(T) > src.bytes_left()) twin::fail("ub-bounds", line, "Gather of byte " + std::to_string(at) + " of a LocalTensor of " + std::to_string(src.bytes_left()) + " bytes");
        d.data()[i] = src.data()[at / sizeof(T)];
    }
}
}  // namespace AscendC
