// The math library's whole-tile calls: dst[i] = f(src[i]), with a scratch tensor the caller gives. Scratch sizes of the
// real library vary; here it must hold at least 2 KiB + 16 B an element and is poisoned, so that nobody keeps data in it.
#pragma once
#include "select.h"

namespace twin {
template <class T, class F> void library_call(const char *op, const AscendC::LocalTensor<T> &d, const AscendC::LocalTensor<T> &a, const AscendC::LocalTensor<T> *b,
                                              const AscendC::LocalTensor<uint8_t> &work, uint32_t count, int line, F f) {
    need_dtype<T>(op, kFloats, line);
    check_lanes(count, op, line);
    int64_t scratch = 2048 + 16 * int64_t(count);
    if (scratch > int64_t(work.bytes_left())) fail("library-scratch", line, std::string(op) + " wants " + std::to_string(scratch) + " bytes of scratch");
    apart(d, count, a, count, op, line, false);
    if (b) apart(d, count, *b, count, op, line, false);
    apart(work, scratch, a, count, op, line, false);
    apart(work, scratch, d, count, op, line, false);
    uint64_t seq = issue(PIPE_V);
    operand(a, count, false, seq, op, line);
    if (b) operand(*b, count, false, seq, op, line);
    operand(work, scratch, true, seq, op, line);
    operand(d, count, true, seq, op, line);
    std::memset(work.data(), 0xFF, size_t(scratch));
    for (uint32_t i = 0; i < count; ++i) d.data()[i] = T(float(f(double(Lane<T>(a.data()[i])), b ? double(Lane<T>(b->data()[i])) : 0.0)));
}
}  // namespace twin

namespace AscendC {
#define KC_TWIN_LIBRARY(NAME, EXPR) \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<uint8_t> &work, uint32_t count, int line = __builtin_LINE()) { \
        twin::library_call(#NAME, d, a, static_cast<const LocalTensor<T> *>(nullptr), work, count, line, [](double x, double) { return EXPR; }); }
KC_TWIN_LIBRARY(Sin, std::sin(x))
KC_TWIN_LIBRARY(Cos, std::cos(x))
KC_TWIN_LIBRARY(Tan, std::tan(x))
KC_TWIN_LIBRARY(Asin, std::asin(x))
KC_TWIN_LIBRARY(Acos, std::acos(x))
KC_TWIN_LIBRARY(Atan, std::atan(x))
KC_TWIN_LIBRARY(Sinh, std::sinh(x))
KC_TWIN_LIBRARY(Cosh, std::cosh(x))
KC_TWIN_LIBRARY(Tanh, std::tanh(x))
KC_TWIN_LIBRARY(Asinh, std::asinh(x))
KC_TWIN_LIBRARY(Acosh, std::acosh(x))
KC_TWIN_LIBRARY(Atanh, std::atanh(x))
KC_TWIN_LIBRARY(Erf, std::erf(x))
KC_TWIN_LIBRARY(Log2, std::log2(x))
KC_TWIN_LIBRARY(Log10, std::log10(x))
#undef KC_TWIN_LIBRARY
#define KC_TWIN_LIBRARY2(NAME, EXPR) \
    template <class T> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, const LocalTensor<uint8_t> &work, uint32_t count, int line = __builtin_LINE()) { \
        twin::library_call(#NAME, d, a, &b, work, count, line, [](double x, double y) { return EXPR; }); }
KC_TWIN_LIBRARY2(Power, std::pow(x, y))
KC_TWIN_LIBRARY2(Fmod, std::fmod(x, y))
#undef KC_TWIN_LIBRARY2
}  // namespace AscendC
