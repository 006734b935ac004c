// Whole-tile and per-repeat reductions. The order of a sum is a binary tree inside each repeat of 256 B, then a tree
// over the repeats' results: it is part of the instruction's meaning.
#pragma once
#include "vector.h"

namespace twin {
template <class T> T tree_sum(const T *p, int64_t n) {
    if (n == 1) return p[0];
    int64_t h = (n + 1) / 2;
    return T(Lane<T>(tree_sum(p, h)) + Lane<T>(tree_sum(p + h, n - h)));
}
template <class T> T sum_by_repeats(const T *p, int64_t n) {
    constexpr int64_t lanes = 256 / sizeof(T);
    std::vector<T> level;
    for (int64_t i = 0; i < n; i += lanes) level.push_back(tree_sum(p + i, std::min(lanes, n - i)));
    return level.size() == 1 ? level[0] : sum_by_repeats(level.data(), int64_t(level.size()));
}
/// Position of the largest (sign 1) or smallest (sign -1) value; a NaN wins; the lowest position on ties.
template <class T> uint32_t extreme(const T *p, int64_t n, int sign) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
        Lane<T> x = p[i], y = p[best];
        if (y == y && (x != x || (sign > 0 ? x > y : x < y))) best = i;
    }
    return uint32_t(best);
}
template <class T> void check_reduce(const char *op, const AscendC::LocalTensor<T> &d, const AscendC::LocalTensor<T> &a, const AscendC::LocalTensor<T> &work, int64_t count, int64_t out, int64_t scratch, int line) {
    need_dtype<T>(op, kFloats, line);
    check_lanes(count, op, line);
    apart(d, out, a, count, op, line);
    apart(d, out, work, scratch, op, line, false);
    apart(work, scratch, a, count, op, line, false);
    uint64_t seq = issue(PIPE_V);
    operand(a, count, false, seq, op, line);
    operand(work, scratch, true, seq, op, line);
    operand(d, out, true, seq, op, line);
}
/// Elements of work space: one value (or a value and its position) for each repeat, in whole 32 B blocks.
template <class T> int64_t work_elements(int64_t count, int64_t each) {
    constexpr int64_t lanes = 256 / sizeof(T), block = kBlock / sizeof(T);
    return ((count + lanes - 1) / lanes * each + block - 1) / block * block;
}
template <class T> void reduce_extreme(const char *op, int sign, const AscendC::LocalTensor<T> &d, const AscendC::LocalTensor<T> &a, const AscendC::LocalTensor<T> &work, int64_t count, bool position, int line) {
    check_reduce(op, d, a, work, count, position ? 2 : 1, work_elements<T>(count, 2) * (position ? 2 : 1), line);
    uint32_t at = extreme(a.data(), count, sign);
    T value = a.data()[at];
    std::memset(static_cast<void *>(work.data()), 0xFF, size_t(work_elements<T>(count, 2)) * sizeof(T));
    d.data()[0] = value;
    if (position) std::memcpy(static_cast<void *>(d.data() + 1), &at, sizeof(T));
}
}  // namespace twin

namespace AscendC {
template <class T> void ReduceSum(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &work, int32_t count, int line = __builtin_LINE()) {
    twin::check_reduce("ReduceSum", d, a, work, count, 1, twin::work_elements<T>(count, 1), line);
    T value = twin::sum_by_repeats(a.data(), int64_t(count));
    std::memset(static_cast<void *>(work.data()), 0xFF, size_t(twin::work_elements<T>(count, 1)) * sizeof(T));
    d.data()[0] = value;
}
template <class T> void ReduceMax(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &work, int32_t count, bool position = false, int line = __builtin_LINE()) {
    twin::reduce_extreme("ReduceMax", 1, d, a, work, count, position, line);
}
template <class T> void ReduceMin(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &work, int32_t count, bool position = false, int line = __builtin_LINE()) {
    twin::reduce_extreme("ReduceMin", -1, d, a, work, count, position, line);
}
/// d[r * dstRepStride] = sum over `mask` lanes of repeat r.
template <class T> void WholeReduceSum(const LocalTensor<T> &d, const LocalTensor<T> &a, int32_t mask, int32_t repeat, int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride, int line = __builtin_LINE()) {
    twin::need_dtype<T>("WholeReduceSum", twin::kFloats, line);
    twin::check_repeat<T>(uint64_t(mask), repeat, "WholeReduceSum", line);
    if (srcBlkStride != 1) twin::fail("not-modelled", line, "WholeReduceSum with a block stride other than 1");
    int64_t na = twin::reach<T>(uint64_t(mask), repeat, srcBlkStride, srcRepStride), nd = int64_t(repeat - 1) * dstRepStride + 1;
    twin::apart(d, nd, a, na, "WholeReduceSum", line);
    uint64_t seq = twin::issue(PIPE_V);
    twin::operand(a, na, false, seq, "WholeReduceSum", line);
    twin::operand(d, nd, true, seq, "WholeReduceSum", line);
    for (int r = 0; r < repeat; ++r) d.data()[int64_t(r) * dstRepStride] = twin::tree_sum(a.data() + twin::lane<T>(r, 0, srcBlkStride, srcRepStride), int64_t(mask));
}
}  // namespace AscendC
