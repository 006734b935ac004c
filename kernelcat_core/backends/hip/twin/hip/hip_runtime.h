// HIP's device language and launches for the functional model, in terms of CUDA's (the model is one, with warps of 64).
#pragma once
#include "cuda_runtime.h"

typedef cudaError_t hipError_t;
typedef cudaStream_t hipStream_t;
enum { hipSuccess = cudaSuccess, hipErrorInvalidConfiguration = cudaErrorInvalidConfiguration };

// Without a mask: every lane of the wavefront must be there.
#define __shfl(value, ...) kc_shuffled(__LINE__, 0, ~(kc_mask)0, value, __VA_ARGS__)
#define __shfl_up(value, ...) kc_shuffled(__LINE__, 1, ~(kc_mask)0, value, __VA_ARGS__)
#define __shfl_down(value, ...) kc_shuffled(__LINE__, 2, ~(kc_mask)0, value, __VA_ARGS__)
#define __shfl_xor(value, ...) kc_shuffled(__LINE__, 3, ~(kc_mask)0, value, __VA_ARGS__)

#define hipMallocAsync cudaMallocAsync
#define hipFreeAsync cudaFreeAsync

static hipError_t kc_last_launch = hipSuccess;
static inline hipError_t hipGetLastError() {
  hipError_t last = kc_last_launch;
  kc_last_launch = hipSuccess;
  return last;
}
template <class T>
struct kc_same {
  typedef T type;  // arguments convert to the kernel's parameters
};
template <class... P>
static void kc_start_with(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t dynamic_bytes,
                          hipStream_t stream, typename kc_same<P>::type... values) {
  void* arguments[] = {(void*)&values..., nullptr};
  kc_last_launch = kc_start(name, kernel, grid, block, arguments, dynamic_bytes, stream);
}
#define hipLaunchKernelGGL(kernel, ...) kc_start_with(#kernel, kernel, __VA_ARGS__)
