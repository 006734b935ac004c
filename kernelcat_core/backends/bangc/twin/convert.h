// Conversions between element types. `position` is that of the binary point of the integer.
#pragma once
#include "vector.h"

namespace twin {
/// A float as an integer: truncated, saturated; NaN saturates by its sign below 520, and gives 0 from there.
template <class T> T to_integer(float x, int position) {
    if (x != x) return kNew ? T(0) : std::signbit(x) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    double y = std::trunc(std::ldexp(double(x), -position));
    if (y <= double(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (y >= double(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return T(y);
}
/// Below 520 a float beyond the largest bfloat16_t saturates; infinities stay.
inline bfloat16_t to_bf16(float x) {
    bfloat16_t y(x);
    if (!kNew && std::isfinite(x) && (y.bits & 0x7fff) == 0x7f80) y.bits = uint16_t((y.bits & 0x8000) | 0x7f7f);
    return y;
}
template <class D, class S, class F> void convert(const char *op, bool over, D *d, const S *s, int64_t count, int line, F f) {
    check_count(count, op, line);
    uint64_t nd = uint64_t(count) * sizeof(D), ns = uint64_t(count) * sizeof(S), seq = issue(COMPUTE, op, line);
    apart(d, nd, s, ns, over, op, line);
    operand(s, ns, Space::nram, false, COMPUTE, seq, op, line);
    operand(d, nd, Space::nram, true, COMPUTE, seq, op, line);
    for (int64_t i = 0; i < count; ++i) d[i] = f(s[i]);
}
inline void check_position(int p, const char *op, int line) {
    if (p < -127 || p > 127) fail("fix-position", line, std::string(op) + ": position " + std::to_string(p) + " is not in -127..127");
}
}  // namespace twin

#define KC_TWIN_CONVERT(NAME, D, S, OVER, EXPR) \
    inline void NAME(D *d, const S *s, int64_t count, int line = __builtin_LINE()) { \
        twin::convert(#NAME, OVER, d, s, count, line, [](S x) { return D(EXPR); }); }
KC_TWIN_CONVERT(__bang_half2float, float, half, false, float(x))
KC_TWIN_CONVERT(__bang_float2half_rn, half, float, true, x)
KC_TWIN_CONVERT(__bang_bfloat162float, float, bfloat16_t, false, float(x))
KC_TWIN_CONVERT(__bang_float2bfloat16_rn, bfloat16_t, float, true, twin::to_bf16(x))
KC_TWIN_CONVERT(__bang_uchar2float, float, uint8_t, true, x)
KC_TWIN_CONVERT(__bang_float2uchar_tz, uint8_t, float, true, twin::to_integer<uint8_t>(x, 0))
#undef KC_TWIN_CONVERT
#define KC_TWIN_FIXED(NAME, D, S, OVER, EXPR) \
    inline void NAME(D *d, const S *s, int64_t count, int position, int line = __builtin_LINE()) { \
        twin::check_position(position, #NAME, line); \
        twin::convert(#NAME, OVER, d, s, count, line, [position](S x) { return D(EXPR); }); }
KC_TWIN_FIXED(__bang_float2int32_tz, int32_t, float, true, twin::to_integer<int32_t>(x, position))
KC_TWIN_FIXED(__bang_float2int16_tz, int16_t, float, true, twin::to_integer<int16_t>(x, position))
KC_TWIN_FIXED(__bang_float2int8_tz, int8_t, float, true, twin::to_integer<int8_t>(x, position))
KC_TWIN_FIXED(__bang_int322float_rn, float, int32_t, true, std::ldexp(double(x), position))
KC_TWIN_FIXED(__bang_int162float, float, int16_t, false, std::ldexp(double(x), position))
KC_TWIN_FIXED(__bang_uint162float, float, uint16_t, false, std::ldexp(double(x), position))
KC_TWIN_FIXED(__bang_int82float, float, int8_t, false, std::ldexp(double(x), position))
#undef KC_TWIN_FIXED
#define KC_TWIN_WIDEN(NAME, D, S) \
    inline void NAME(D *d, const S *s, int64_t count, int to, int from, int line = __builtin_LINE()) { \
        twin::check_position(to, #NAME, line); \
        twin::check_position(from, #NAME, line); \
        twin::convert(#NAME, false, d, s, count, line, [=](S x) { return D(std::trunc(std::ldexp(double(x), from - to))); }); }
KC_TWIN_WIDEN(__bang_int82int32, int32_t, int8_t)
KC_TWIN_WIDEN(__bang_int162int32, int32_t, int16_t)
#undef KC_TWIN_WIDEN
inline float __half2float(half x) { return float(x); }
inline half __float2half_rn(float x) { return half(x); }
