// Declarations with which clang alone compiles HIP device code, where ROCm's own headers are not installed: what generated
// kernels use, no more. Mathematical functions are those of ROCm's device library, left undefined here.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define KC_DEVICE static inline __device__ __attribute__((always_inline))

struct kc_index {
  unsigned x;
};
#define threadIdx (kc_index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (kc_index{__builtin_amdgcn_workgroup_id_x()})

KC_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <class T>
KC_DEVICE T __shfl_xor(T value, int mask) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  union {
    T value;
    int word[2];
  } moved = {};
  moved.value = value;
  int lane = (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) ^ mask;
  for (int k = 0; k < (int)(sizeof(T) + 3) / 4; k++) moved.word[k] = __builtin_amdgcn_ds_bpermute(lane << 2, moved.word[k]);
  return moved.value;
}

KC_DEVICE float __int_as_float(int i) { return __builtin_bit_cast(float, i); }

#define KC_UNARY(F) \
  F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) \
  F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(floor) F(ceil) F(trunc) F(rint) F(round) F(fabs) F(rsqrt)
#define KC_BINARY(F) F(fmod) F(pow) F(atan2) F(hypot) F(copysign) F(fmin) F(fmax)
#define KC_DECLARE1(name) \
  extern "C" __device__ float __ocml_##name##_f32(float); \
  extern "C" __device__ double __ocml_##name##_f64(double); \
  KC_DEVICE float name##f(float x) { return __ocml_##name##_f32(x); } \
  KC_DEVICE double name(double x) { return __ocml_##name##_f64(x); }
#define KC_DECLARE2(name) \
  extern "C" __device__ float __ocml_##name##_f32(float, float); \
  extern "C" __device__ double __ocml_##name##_f64(double, double); \
  KC_DEVICE float name##f(float x, float y) { return __ocml_##name##_f32(x, y); } \
  KC_DEVICE double name(double x, double y) { return __ocml_##name##_f64(x, y); }
KC_UNARY(KC_DECLARE1)
KC_BINARY(KC_DECLARE2)
KC_DEVICE float ldexpf(float x, int e) { return __builtin_amdgcn_ldexpf(x, e); }
KC_DEVICE float frexpf(float x, int *e) {
  *e = __builtin_amdgcn_frexp_expf(x);
  return __builtin_amdgcn_frexp_mantf(x);
}

// The host's side, for the compiler to read over.
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
typedef struct ihipStream_t *hipStream_t;
enum hipError_t { hipSuccess = 0, hipErrorInvalidConfiguration = 9 };
hipError_t hipMallocAsync(void **, size_t, hipStream_t);
hipError_t hipFreeAsync(void *, hipStream_t);
hipError_t hipGetLastError();
template <class... P, class... A>
void hipLaunchKernelGGL(void (*)(P...), dim3, dim3, size_t, hipStream_t, A...) {}
