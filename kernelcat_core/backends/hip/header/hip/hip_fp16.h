// binary16 as far as generated kernels use it: kept in memory, converted.
#pragma once
#include "hip_runtime.h"

struct __half {
  uint16_t bits;
};
KC_DEVICE float __half2float(__half h) { return (float)__builtin_bit_cast(_Float16, h.bits); }
KC_DEVICE __half __float2half_rn(float f) { return __half{__builtin_bit_cast(uint16_t, (_Float16)f)}; }
