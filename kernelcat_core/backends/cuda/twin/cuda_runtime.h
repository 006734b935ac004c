// CUDA's device language for a CPU compiler: what a kernel text includes where there is no CUDA toolkit.
// A thread is a fiber; see kc_abi.h and kc_runtime.cpp. nvcc never sees this folder.
#pragma once
#include <limits.h>
#include <math.h>
#include <string.h>
#include "kc_abi.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static __attribute__((section("kc_shared")))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define KC_UNCHECKED __attribute__((noinline, no_sanitize("thread")))

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(8) uint2 { unsigned x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(16) double2 { double x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

#define threadIdx (kc_thread_index())
#define blockIdx (kc_block_index())
#define blockDim (kc_block_size())
#define gridDim (kc_grid_size())
constexpr int warpSize = KC_WARP;

// Barriers. The empty asm keeps the compiler from carrying shared memory in registers across them.
#define KC_FENCE() asm volatile("" ::: "memory")
static __forceinline__ int kc_barrier(int kind, int predicate, int line) {
  KC_FENCE();
  int all = kc_block_barrier(kind, predicate, line);
  KC_FENCE();
  return all;
}
struct kc_syncwarp {
  int line;
  __forceinline__ void operator()(kc_mask mask = ~(kc_mask)0) const {
    KC_FENCE();
    kc_warp_barrier(mask, line);
    KC_FENCE();
  }
};
#define __syncthreads() ((void)kc_barrier(0, 0, __LINE__))
#define __syncthreads_count(p) kc_barrier(1, (p) != 0, __LINE__)
#define __syncthreads_and(p) kc_barrier(2, (p) != 0, __LINE__)
#define __syncthreads_or(p) kc_barrier(3, (p) != 0, __LINE__)
#define __syncwarp kc_syncwarp{__LINE__}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

// Warp collectives.
template <class T>
static __forceinline__ T kc_shuffled(int line, int kind, kc_mask mask, T value, int operand, int width = KC_WARP) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = kc_shuffle(kind, mask, bits, operand, width, line);
  memcpy(&value, &bits, sizeof(T));
  return value;
}
#define __shfl_sync(mask, value, ...) kc_shuffled(__LINE__, 0, mask, value, __VA_ARGS__)
#define __shfl_up_sync(mask, value, ...) kc_shuffled(__LINE__, 1, mask, value, __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...) kc_shuffled(__LINE__, 2, mask, value, __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...) kc_shuffled(__LINE__, 3, mask, value, __VA_ARGS__)
#define __ballot_sync(mask, p) kc_ballot(mask, (p) != 0, __LINE__)
#define __any_sync(mask, p) (kc_ballot(mask, (p) != 0, __LINE__) != 0)
#define __all_sync(mask, p) (kc_ballot(mask, (p) == 0, __LINE__) == 0)
static inline kc_mask __activemask() { return kc_active_mask(); }

// Atomics: fibers switch only at barriers and collectives, so a plain read and write is one step.
template <class T, class F>
static KC_UNCHECKED T kc_update(T* p, F change, int line) {
  kc_atomic(p, sizeof(T), line);
  T old = *p;
  *p = change(old);
  return old;
}
#define KC_ATOMIC(p, change) kc_update(p, [=](auto old) -> decltype(old) { return change; }, __LINE__)
#define atomicAdd(p, v) KC_ATOMIC(p, (decltype(old))(old + (v)))
#define atomicSub(p, v) KC_ATOMIC(p, (decltype(old))(old - (v)))
#define atomicMax(p, v) KC_ATOMIC(p, old < (decltype(old))(v) ? (decltype(old))(v) : old)
#define atomicMin(p, v) KC_ATOMIC(p, (decltype(old))(v) < old ? (decltype(old))(v) : old)
#define atomicExch(p, v) KC_ATOMIC(p, (decltype(old))(v))
#define atomicAnd(p, v) KC_ATOMIC(p, old & (v))
#define atomicOr(p, v) KC_ATOMIC(p, old | (v))
#define atomicXor(p, v) KC_ATOMIC(p, old ^ (v))
#define atomicCAS(p, c, v) KC_ATOMIC(p, old == (c) ? (decltype(old))(v) : old)

// Arithmetic. The fast intrinsics are not modelled bit by bit; here they are the exactly rounded functions.
template <class T>
static __forceinline__ T __ldg(const T* p) { return *p; }
static inline float __int_as_float(int i) { float f; memcpy(&f, &i, 4); return f; }
static inline int __float_as_int(float f) { int i; memcpy(&i, &f, 4); return i; }
static inline float __uint_as_float(unsigned i) { float f; memcpy(&f, &i, 4); return f; }
static inline unsigned __float_as_uint(float f) { unsigned i; memcpy(&i, &f, 4); return i; }
static inline double __longlong_as_double(long long i) { double f; memcpy(&f, &i, 8); return f; }
static inline long long __double_as_longlong(double f) { long long i; memcpy(&i, &f, 8); return i; }
static inline float kc_fast_expf(float x) { return (float)exp((double)x); }
static inline float kc_fast_exp2f(float x) { return (float)exp2((double)x); }
static inline float kc_fast_logf(float x) { return (float)log((double)x); }
static inline float kc_fast_log2f(float x) { return (float)log2((double)x); }
static inline float kc_fast_powf(float x, float y) { return (float)pow((double)x, (double)y); }
static inline float kc_fast_sinf(float x) { return (float)sin((double)x); }
static inline float kc_fast_cosf(float x) { return (float)cos((double)x); }
#define __expf kc_fast_expf  // glibc declares functions of these names
#define __exp2f kc_fast_exp2f
#define __logf kc_fast_logf
#define __log2f kc_fast_log2f
#define __powf kc_fast_powf
#define __sinf kc_fast_sinf
#define __cosf kc_fast_cosf
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
template <class A, class B>
static __forceinline__ auto min(A a, B b) -> decltype(a + b) { return b < a ? b : a; }
template <class A, class B>
static __forceinline__ auto max(A a, B b) -> decltype(a + b) { return a < b ? b : a; }

// Host API: as much as launching needs. Streams are ignored: everything is done when a call returns.
typedef int cudaError_t;
typedef struct kc_stream* cudaStream_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInvalidConfiguration = 9, cudaErrorLaunchFailure = 719 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

// The dynamic shared memory that a kernel asked for; what may be declared needs no asking.
template <class... A>
static size_t& kc_dynamic_limit(void (*kernel)(A...)) {
  static struct { void (*kernel)(A...); size_t bytes; } known[64];
  int at = 0;
  while (at < 63 && known[at].kernel && known[at].kernel != kernel) at++;
  if (!known[at].kernel) known[at] = {kernel, KC_STATIC_SHARED};
  return known[at].bytes;
}
template <class... A>
static cudaError_t cudaFuncSetAttribute(void (*kernel)(A...), cudaFuncAttribute, int bytes) {
  kc_dynamic_limit(kernel) = (size_t)bytes;
  return cudaSuccess;
}
template <size_t... I>
struct kc_places {};
template <size_t n, size_t... I>
struct kc_count : kc_count<n - 1, n - 1, I...> {};
template <size_t... I>
struct kc_count<0, I...> {
  typedef kc_places<I...> type;
};
template <class... A>
struct kc_call {
  void (*kernel)(A...);
  void** arguments;
  template <size_t... I>
  KC_UNCHECKED void spread(kc_places<I...>) { kernel(*(A*)arguments[I]...); }
  static KC_UNCHECKED void run(void* self) { ((kc_call*)self)->spread(typename kc_count<sizeof...(A)>::type()); }
};
template <class... A>
static cudaError_t kc_start(const char* name, void (*kernel)(A...), dim3 grid, dim3 block, void** arguments,
                            size_t dynamic_bytes = 0, cudaStream_t = 0) {
  kc_call<A...> call{kernel, arguments};
  return kc_launch(name, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_bytes,
                   kc_dynamic_limit(kernel), &kc_call<A...>::run, &call);
}
#define cudaLaunchKernel(kernel, ...) kc_start(#kernel, kernel, __VA_ARGS__)
static inline cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t) { return kc_malloc(p, bytes); }
static inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return kc_free(p), cudaSuccess; }
static inline cudaError_t cudaMemsetAsync(void* p, int v, size_t bytes, cudaStream_t) { return kc_memset(p, v, bytes); }
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
static inline const char* cudaGetErrorString(cudaError_t) { return kc_last_error(); }

static inline unsigned __cvta_generic_to_shared(const void* p) { return (unsigned)(uintptr_t)p; }
#define alignas(n) __attribute__((aligned(n)))  // CUDA texts put it after __shared__

// Tensor-core steps, under the names that a text gives its inline assembly for nvcc.
#define kc_load_fragments(r, row, transposed) kc_ldmatrix_x4(r, row, transposed, __LINE__)
#define kc_mma_m16n8k16_f16(d, a, b) kc_mma_16816(d, a, b, 0, __LINE__)
#define kc_mma_m16n8k16_bf16(d, a, b) kc_mma_16816(d, a, b, 1, __LINE__)
