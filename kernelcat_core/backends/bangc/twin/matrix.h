// Products of matrices: the first factor by rows in NRAM, the second by columns in WRAM, in the order that
// __bang_reshape_filter gives it. That order is the hardware's own; one of ours stands for it, so that a product without it
// comes out wrong.
#pragma once
#include "reduce.h"

namespace twin {
constexpr uint32_t kWords = kNumbers;
/// Where column `r` of `n` lies after the reshape: the columns are dealt to 64 units, one after the other.
inline int64_t place_of(int64_t r, int64_t n) { return r % 64 * (n / 64) + r / 64; }
}  // namespace twin

template <class T> void __bang_transpose(T *d, const T *a, int64_t height, int64_t width, int line = __builtin_LINE()) {
    twin::need_dtype<T>("__bang_transpose", twin::kWords, line);
    twin::check_count(height * width, "__bang_transpose", line);
    uint64_t bytes = uint64_t(height * width) * sizeof(T), seq = twin::issue(twin::COMPUTE, "__bang_transpose", line);
    twin::apart(d, bytes, a, bytes, false, "__bang_transpose", line);
    twin::operand(a, bytes, twin::Space::nram, false, twin::COMPUTE, seq, "__bang_transpose", line);
    twin::operand(d, bytes, twin::Space::nram, true, twin::COMPUTE, seq, "__bang_transpose", line);
    for (int64_t r = 0; r < height; ++r) for (int64_t c = 0; c < width; ++c) d[c * height + r] = a[r * width + c];
}
template <class T> void __bang_reshape_filter(T *d, const T *a, int64_t n, int64_t h, int64_t w, int64_t c, int line = __builtin_LINE()) {
    const char *op = "__bang_reshape_filter";
    twin::need_dtype<T>(op, twin::kWords, line);
    if (n < 1 || n % 64) twin::fail("matrix-shape", line, std::string(op) + ": n is " + std::to_string(n) + ", must be a multiple of 64");
    if (h * w * c * int64_t(sizeof(T)) % 32 || h * w * c < 1) twin::fail("matrix-shape", line, std::string(op) + ": h * w * c elements are not a multiple of 32 B");
    uint64_t bytes = uint64_t(n * h * w * c) * sizeof(T), seq = twin::issue(twin::COMPUTE, op, line);
    twin::apart(d, bytes, a, bytes, false, op, line);
    twin::operand(a, bytes, twin::Space::nram, false, twin::COMPUTE, seq, op, line);
    twin::operand(d, bytes, twin::Space::nram, true, twin::COMPUTE, seq, op, line);
    for (int64_t r = 0; r < n; ++r) std::memcpy(d + twin::place_of(r, n) * h * w * c, a + r * h * w * c, size_t(h * w * c) * sizeof(T));
}
/// dst[M, N] = a[M, K] b[K, N], summed in float.
template <class T> void __bang_matmul(float *d, const T *a, const T *b, int64_t M, int64_t K, int64_t N, int line = __builtin_LINE()) {
    const char *op = "__bang_matmul";
    twin::need_dtype<T>(op, twin::kHalf | twin::kFloat | twin::kBf16, line);
    if (M < 1 || K < 1 || N < 1) twin::fail("matrix-shape", line, std::string(op) + ": M, K and N must be greater than 0");
    if (K * int64_t(sizeof(T)) % 64) twin::fail("matrix-shape", line, std::string(op) + ": K is " + std::to_string(K) + " elements, not a multiple of 64 B");
    if (reinterpret_cast<uint64_t>(b) % 32) twin::fail("wram-alignment", line, std::string(op) + ": the second factor is not at a multiple of 32 B");
    int64_t columns = (N + 63) / 64 * 64;                        // memory of the second factor is whole groups of 64
    uint64_t nd = uint64_t(M * N) * 4, na = uint64_t(M * K) * sizeof(T), seq = twin::issue(twin::COMPUTE, op, line);
    twin::apart(d, nd, a, na, false, op, line);
    twin::operand(a, na, twin::Space::nram, false, twin::COMPUTE, seq, op, line);
    twin::operand(b, uint64_t(columns * K) * sizeof(T), twin::Space::wram, false, twin::COMPUTE, seq, op, line);
    twin::operand(d, nd, twin::Space::nram, true, twin::COMPUTE, seq, op, line);
    std::vector<float> column(static_cast<size_t>(K));
    for (int64_t j = 0; j < N; ++j) {
        const T *from = b + twin::place_of(j, columns) * K;
        for (int64_t k = 0; k < K; ++k) column[size_t(k)] = float(from[k]);
        for (int64_t i = 0; i < M; ++i) {
            float total = 0;
            for (int64_t k = 0; k < K; ++k) total += float(a[i * K + k]) * column[size_t(k)];
            d[i * N + j] = total;
        }
    }
}
