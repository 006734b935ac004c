// binary16 by its bits. Operators round once: a float result rounded to 11 bits is the exact result rounded, since
// 24 >= 2 * 11 + 2 (S. Figueroa, "When is double rounding innocuous?", 1995).
#pragma once
#include "cuda_runtime.h"

static inline float kc_half_to_float(uint16_t h) {
  unsigned magnitude = h & 0x7fff, sign = (unsigned)(h & 0x8000) << 16;
  if (magnitude >= 0x7c00) return __uint_as_float(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
  float scaled = __uint_as_float(magnitude << 13) * 0x1p112f;  // exact: moves the exponent's bias
  return __uint_as_float(__float_as_uint(scaled) | sign);
}
static inline uint16_t kc_float_to_half(float f) {
  unsigned bits = __float_as_uint(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)0x7fff;
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // subnormal: adding 0.5 leaves the rounded bits at the bottom of the significand
    unsigned sum = __float_as_uint(__uint_as_float(magnitude) + 0.5f);
    return (uint16_t)(sign | (sum - 0x3f000000));
  }
  unsigned rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

struct __half {
  uint16_t bits;
  __half() = default;
  __half(float f) : bits(kc_float_to_half(f)) {}
  __half(double f) : bits(kc_float_to_half((float)f)) {}
  __half(int f) : bits(kc_float_to_half((float)f)) {}
  operator float() const { return kc_half_to_float(bits); }
};
typedef __half half;
struct __align__(4) __half2 { __half x, y; };
typedef __half2 half2;

static inline __half __float2half(float f) { return __half(f); }
static inline __half __float2half_rn(float f) { return __half(f); }
static inline __half __double2half(double f) {  // one rounding from f64: via a float rounded to odd
  float near = (float)f;
  if ((double)near != f && near == near && fabs(f) < 1e300) {
    unsigned bits = __float_as_uint(near);
    if (fabs((double)near) > fabs(f)) bits -= 1;
    near = __uint_as_float(bits | 1);
  }
  return __half(near);
}
static inline float __half2float(__half h) { return (float)h; }
static inline __half __hadd(__half a, __half b) { return __half((float)a + (float)b); }
static inline __half __hsub(__half a, __half b) { return __half((float)a - (float)b); }
static inline __half __hmul(__half a, __half b) { return __half((float)a * (float)b); }
static inline __half __hfma(__half a, __half b, __half c) { return __double2half((double)a * (double)b + (double)c); }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline __half __ushort_as_half(unsigned short u) { __half h; h.bits = u; return h; }
