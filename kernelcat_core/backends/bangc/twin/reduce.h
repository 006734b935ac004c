// Instructions that make one value of many, and atomic folds into global memory.
#pragma once
#include "convert.h"

namespace twin {
template <class T> Lane<T> tree(const T *p, int64_t n) {
    if (n == 1) return p[0];
    int64_t h = (n + 1) / 2;
    return tree(p, h) + tree(p + h, n - h);
}
template <class T> uint64_t source(const char *op, uint32_t legal, const T *a, int64_t count, int line) {
    need_dtype<T>(op, legal, line);
    check_count(count, op, line);
    uint64_t seq = issue(COMPUTE, op, line);
    operand(a, uint64_t(count) * sizeof(T), Space::nram, false, COMPUTE, seq, op, line);
    return seq;
}
/// The extreme and its first position, one after the other. Without `nan` a NaN counts only where it comes first.
template <class T> void arg(const char *op, bool larger, bool nan, T *d, const T *a, int64_t count, int line) {
    uint64_t seq = source(op, kFloats, a, count, line);
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i) {
        Lane<T> x = a[i], y = a[best];
        if (is_nan(y)) break;
        if (is_nan(x) ? nan : larger ? x > y : x < y) best = i;
    }
    T value = a[best];
    uint32_t position = uint32_t(best);
    operand(d, sizeof(T) + 4, Space::nram, true, COMPUTE, seq, op, line);
    std::memcpy(static_cast<void *>(d), &value, sizeof(T));
    std::memcpy(reinterpret_cast<char *>(d) + sizeof(T), &position, 4);
}
}  // namespace twin

/// The first element of every 128 B becomes the sum of the 128 B; the others stay.
template <class T> void __bang_reduce_sum(T *d, const T *a, int64_t count, int line = __builtin_LINE()) {
    constexpr int64_t lanes = 128 / sizeof(T);
    if (count * int64_t(sizeof(T)) % 128) twin::fail("reduce-size", line, "__bang_reduce_sum of " + std::to_string(count * int64_t(sizeof(T))) + " bytes: not a multiple of 128");
    uint64_t seq = twin::source("__bang_reduce_sum", twin::kFloats, a, count, line);
    for (int64_t g = 0; g < count; g += lanes) {
        T value = T(twin::tree(a + g, lanes));
        twin::operand(d + g, 128, twin::Space::nram, true, twin::COMPUTE, seq, "__bang_reduce_sum", line);
        d[g] = value;
    }
}
template <class T> uint32_t __bang_count(const T *a, int64_t count, int line = __builtin_LINE()) {
    twin::source("__bang_count", twin::kFloats | twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32, a, count, line);
    uint32_t found = 0;
    for (int64_t i = 0; i < count; ++i) found += twin::Lane<T>(a[i]) != 0;
    return found;
}
template <class T> void __bang_argmax(T *d, const T *a, int64_t count, int line = __builtin_LINE()) { twin::arg("__bang_argmax", true, false, d, a, count, line); }
template <class T> void __bang_argmin(T *d, const T *a, int64_t count, int line = __builtin_LINE()) { twin::arg("__bang_argmin", false, false, d, a, count, line); }
#if __BANG_ARCH__ >= 520
template <class T> T __bang_sum(const T *a, int64_t count, int line = __builtin_LINE()) {
    twin::source("__bang_sum", twin::kFloats, a, count, line);
    return T(twin::tree(a, count));
}
template <class T> void __bang_nan_argmax(T *d, const T *a, int64_t count, int line = __builtin_LINE()) { twin::arg("__bang_nan_argmax", true, true, d, a, count, line); }
template <class T> void __bang_nan_argmin(T *d, const T *a, int64_t count, int line = __builtin_LINE()) { twin::arg("__bang_nan_argmin", false, true, d, a, count, line); }
#endif

constexpr uint32_t kFolds = twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32;
template <class T> void __bang_atomic_reduce_add(T *dst, typename twin::Same<T>::type value, uint32_t size = 1, int line = __builtin_LINE()) {
    twin::need_dtype<T>("__bang_atomic_reduce_add", kFolds | twin::kHalf | twin::kFloat | twin::kMaybeBf16, line);
    twin::renew("__bang_atomic_reduce_add", dst, value, size, line, [](T a, T b) { return T(twin::wrap_add(twin::Lane<T>(a), twin::Lane<T>(b))); });
}
template <class T> void __bang_atomic_reduce_max(T *dst, typename twin::Same<T>::type value, uint32_t size = 1, int line = __builtin_LINE()) {
    twin::need_dtype<T>("__bang_atomic_reduce_max", kFolds, line);
    twin::renew("__bang_atomic_reduce_max", dst, value, size, line, [](T a, T b) { return std::max(a, b); });
}
template <class T> void __bang_atomic_reduce_min(T *dst, typename twin::Same<T>::type value, uint32_t size = 1, int line = __builtin_LINE()) {
    twin::need_dtype<T>("__bang_atomic_reduce_min", kFolds, line);
    twin::renew("__bang_atomic_reduce_min", dst, value, size, line, [](T a, T b) { return std::min(a, b); });
}
