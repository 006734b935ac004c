// Vector instructions: dst[i] = f(a[i], b[i]) on NRAM, in the Compute pipe.
#pragma once
#include <cmath>
#include "copy.h"

namespace twin {
constexpr bool kNew = __BANG_ARCH__ >= 520;
constexpr uint32_t kMaybeBf16 = kNew ? kBf16 : 0u;               // arithmetic on bfloat16_t came with 5xx
constexpr uint32_t kFloats = kHalf | kFloat | kMaybeBf16, kIntegers = kI8 | kU8 | kI16 | kU16 | kI32 | kU32, kNumbers = kFloats | kIntegers;
constexpr uint32_t kOnlyFloat = kFloat | kMaybeBf16;
/// Arithmetic type of one lane: 16-bit floats compute in float and round once; integers wrap in their own width.
template <class T> using Lane = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>, float, T>;
template <class T> T wrap_add(T a, T b) { if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)); else return a + b; }
template <class T> T wrap_sub(T a, T b) { if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b)); else return a - b; }
template <class T> T wrap_mul(T a, T b) { if constexpr (std::is_integral_v<T>) return T(uint64_t(a) * uint64_t(b)); else return a * b; }
template <class T> T absolute(T a) { if constexpr (std::is_integral_v<T>) return a < 0 ? wrap_sub(T(0), a) : a; else return std::fabs(a); }
template <class T> bool is_nan(T a) { return a != a; }
/// The larger (or smaller) of two; a NaN in either leaves the first (`equal`), or gives NaN (`nan`).
template <class T> T extreme_first(T a, T b, bool larger) { return is_nan(a) || is_nan(b) ? a : larger ? (a > b ? a : b) : (a < b ? a : b); }
template <class T> T extreme_nan(T a, T b, bool larger) { return is_nan(a) ? a : is_nan(b) ? b : larger ? (a > b ? a : b) : (a < b ? a : b); }

enum class Over { any, first, none };                            // which sources the result may lie exactly over
inline void check_count(int64_t count, const char *op, int line) {
    if (count < 1) fail("count", line, std::string(op) + " of " + std::to_string(count) + " elements");
    if (count > 0xFFFFFFFFll) fail("count", line, std::string(op) + " of more elements than an unsigned int holds");
}
inline void apart(const void *d, uint64_t nd, const void *s, uint64_t ns, bool same, const char *op, int line) {
    const char *x = static_cast<const char *>(d), *y = static_cast<const char *>(s);
    if (x == y && same) return;
    if (x < y + ns && y < x + nd) fail("operand-overlap", line, std::string(op) + (x == y ? ": the result may not lie over this operand" : ": result and operand overlap but are not the same"));
}
template <class T, class F> void unary(const char *op, uint32_t legal, Over over, T *d, const T *a, int64_t count, int line, F f) {
    need_dtype<T>(op, legal, line);
    check_count(count, op, line);
    uint64_t bytes = uint64_t(count) * sizeof(T), seq = issue(COMPUTE, op, line);
    apart(d, bytes, a, bytes, over != Over::none, op, line);
    operand(a, bytes, Space::nram, false, COMPUTE, seq, op, line);
    operand(d, bytes, Space::nram, true, COMPUTE, seq, op, line);
    for (int64_t i = 0; i < count; ++i) d[i] = T(f(Lane<T>(a[i])));
}
template <class T, class F> void binary(const char *op, uint32_t legal, Over over, T *d, const T *a, const T *b, int64_t count, int line, F f) {
    need_dtype<T>(op, legal, line);
    check_count(count, op, line);
    uint64_t bytes = uint64_t(count) * sizeof(T), seq = issue(COMPUTE, op, line);
    apart(d, bytes, a, bytes, over != Over::none, op, line);
    apart(d, bytes, b, bytes, over == Over::any, op, line);
    operand(a, bytes, Space::nram, false, COMPUTE, seq, op, line);
    operand(b, bytes, Space::nram, false, COMPUTE, seq, op, line);
    operand(d, bytes, Space::nram, true, COMPUTE, seq, op, line);
    for (int64_t i = 0; i < count; ++i) d[i] = T(f(Lane<T>(a[i]), Lane<T>(b[i])));
}
template <class T> struct Same { using type = T; };              // so that a scalar operand does not choose the overload
}  // namespace twin

#define KC_TWIN_UNARY(NAME, LEGAL, OVER, EXPR) \
    template <class T> void NAME(T *d, const T *a, int64_t count, int line = __builtin_LINE()) { \
        twin::unary(#NAME, LEGAL, twin::Over::OVER, d, a, count, line, [](auto x) { return EXPR; }); }
#define KC_TWIN_BINARY(NAME, LEGAL, OVER, EXPR) \
    template <class T> void NAME(T *d, const T *a, const T *b, int64_t count, int line = __builtin_LINE()) { \
        twin::binary(#NAME, LEGAL, twin::Over::OVER, d, a, b, count, line, [](auto x, auto y) { return EXPR; }); }
#define KC_TWIN_SCALAR(NAME, LEGAL, EXPR) \
    template <class T> void NAME(T *d, const T *a, typename twin::Same<T>::type value, int64_t count, int line = __builtin_LINE()) { \
        twin::Lane<T> y = value; \
        twin::unary(#NAME, LEGAL, twin::Over::any, d, a, count, line, [y](auto x) { return EXPR; }); }

KC_TWIN_BINARY(__bang_add, twin::kNumbers, any, twin::wrap_add(x, y))
KC_TWIN_BINARY(__bang_sub, twin::kNumbers, any, twin::wrap_sub(x, y))
KC_TWIN_BINARY(__bang_mul, twin::kNumbers, any, twin::wrap_mul(x, y))
KC_TWIN_SCALAR(__bang_add_scalar, twin::kNumbers, twin::wrap_add(x, y))
KC_TWIN_SCALAR(__bang_sub_scalar, twin::kNumbers, twin::wrap_sub(x, y))
KC_TWIN_SCALAR(__bang_mul_scalar, twin::kNumbers, twin::wrap_mul(x, y))
KC_TWIN_UNARY(__bang_abs, twin::kFloats | twin::kI8 | twin::kI16 | twin::kI32, any, twin::absolute(x))
KC_TWIN_UNARY(__bang_sqrt, twin::kOnlyFloat, any, std::sqrt(x))
KC_TWIN_UNARY(__bang_rsqrt, twin::kOnlyFloat, any, 1 / std::sqrt(x))
KC_TWIN_UNARY(__bang_recip, twin::kOnlyFloat, any, 1 / x)
KC_TWIN_UNARY(__bang_log, twin::kOnlyFloat, any, std::log2(x))
KC_TWIN_UNARY(__bang_pow2, twin::kOnlyFloat, any, std::exp2(x))
KC_TWIN_UNARY(__bang_sin, twin::kOnlyFloat, any, std::sin(x))
KC_TWIN_UNARY(__bang_cos, twin::kOnlyFloat, any, std::cos(x))
KC_TWIN_UNARY(__bang_floor, twin::kFloat, none, std::floor(x))
KC_TWIN_UNARY(__bang_nearbyint, twin::kFloat, none, std::nearbyint(x))
KC_TWIN_UNARY(__bang_round, twin::kFloat, none, std::round(x))
KC_TWIN_BINARY(__bang_maxequal, twin::kNumbers, first, twin::extreme_first(x, y, true))
KC_TWIN_BINARY(__bang_minequal, twin::kNumbers, first, twin::extreme_first(x, y, false))
KC_TWIN_SCALAR(__bang_maxeq_scalar, twin::kNumbers, twin::extreme_first(x, y, true))
KC_TWIN_SCALAR(__bang_mineq_scalar, twin::kNumbers, twin::extreme_first(x, y, false))
#if __BANG_ARCH__ >= 520
KC_TWIN_BINARY(__bang_nan_maximum, twin::kFloats, any, twin::extreme_nan(x, y, true))
KC_TWIN_BINARY(__bang_nan_minimum, twin::kFloats, any, twin::extreme_nan(x, y, false))
KC_TWIN_SCALAR(__bang_nan_maximum_scalar, twin::kFloats, twin::extreme_nan(x, y, true))
KC_TWIN_SCALAR(__bang_nan_minimum_scalar, twin::kFloats, twin::extreme_nan(x, y, false))
#endif
// Comparisons: 1 or 0 in the type of the operands; false for NaN, __bang_ne included (below 520).
#define KC_TWIN_COMPARE(NAME, EXPR) KC_TWIN_BINARY(NAME, twin::kNumbers, any, (EXPR) ? 1 : 0) KC_TWIN_SCALAR(NAME##_scalar, twin::kNumbers, (EXPR) ? 1 : 0)
KC_TWIN_COMPARE(__bang_eq, x == y)
KC_TWIN_COMPARE(__bang_ne, x < y || x > y)
KC_TWIN_COMPARE(__bang_lt, x < y)
KC_TWIN_COMPARE(__bang_le, x <= y)
KC_TWIN_COMPARE(__bang_gt, x > y)
KC_TWIN_COMPARE(__bang_ge, x >= y)
#if __BANG_ARCH__ >= 520
KC_TWIN_BINARY(__bang_neu, twin::kFloats, any, x != y ? 1 : 0)
KC_TWIN_SCALAR(__bang_neu_scalar, twin::kFloats, x != y ? 1 : 0)
#endif
#undef KC_TWIN_COMPARE
KC_TWIN_BINARY(__bang_and, twin::kNumbers, first, (x != 0) && (y != 0) ? 1 : 0)
KC_TWIN_BINARY(__bang_or, twin::kNumbers, first, (x != 0) || (y != 0) ? 1 : 0)
KC_TWIN_BINARY(__bang_xor, twin::kNumbers, first, (x != 0) != (y != 0) ? 1 : 0)
KC_TWIN_UNARY(__bang_not, twin::kNumbers, any, x == 0 ? 1 : 0)
#undef KC_TWIN_UNARY
#undef KC_TWIN_BINARY
#undef KC_TWIN_SCALAR

// Bits, byte by byte.
#define KC_TWIN_BITS(NAME, EXPR) \
    inline void NAME(char *d, const char *a, const char *b, int64_t count, int line = __builtin_LINE()) { \
        twin::binary(#NAME, twin::kI8, twin::Over::first, d, a, b, count, line, [](auto x, auto y) { return char(EXPR); }); }
KC_TWIN_BITS(__bang_band, x & y)
KC_TWIN_BITS(__bang_bor, x | y)
KC_TWIN_BITS(__bang_bxor, x ^ y)
#undef KC_TWIN_BITS
inline void __bang_bnot(char *d, const char *a, int64_t count, int line = __builtin_LINE()) {
    twin::unary("__bang_bnot", twin::kI8, twin::Over::any, d, a, count, line, [](auto x) { return char(~x); });
}
inline void __bang_move(void *d, const void *a, int64_t size, int line = __builtin_LINE()) {
    twin::check_count(size, "__bang_move", line);
    uint64_t seq = twin::issue(twin::COMPUTE, "__bang_move", line);
    twin::operand(a, uint64_t(size), twin::Space::nram, false, twin::COMPUTE, seq, "__bang_move", line);
    twin::operand(d, uint64_t(size), twin::Space::nram, true, twin::COMPUTE, seq, "__bang_move", line);
    std::memmove(d, a, size_t(size));
}
template <class T> void __bang_write_value(void *d, int64_t count, T value, int line = __builtin_LINE()) {
    twin::need_dtype<T>("__bang_write_value", twin::kNumbers, line);
    twin::check_count(count, "__bang_write_value", line);
    twin::operand(d, uint64_t(count) * sizeof(T), twin::Space::nram, true, twin::COMPUTE, twin::issue(twin::COMPUTE, "__bang_write_value", line), "__bang_write_value", line);
    for (int64_t i = 0; i < count; ++i) std::memcpy(static_cast<char *>(d) + uint64_t(i) * sizeof(T), &value, sizeof(T));
}
