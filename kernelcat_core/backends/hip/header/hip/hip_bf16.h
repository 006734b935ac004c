// bfloat16 as far as generated kernels use it: kept in memory, converted.
#pragma once
#include "hip_runtime.h"

struct __hip_bfloat16 {
  uint16_t bits;
};
KC_DEVICE float __bfloat162float(__hip_bfloat16 h) { return __builtin_bit_cast(float, (unsigned)h.bits << 16); }
KC_DEVICE __hip_bfloat16 __float2bfloat16(float f) {
  unsigned u = __builtin_bit_cast(unsigned, f);
  return __hip_bfloat16{f != f ? (uint16_t)(u >> 16 | 0x40) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}
