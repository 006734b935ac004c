// Asynchronous copies into shared memory. The bytes move at the wait, so that a missing wait shows.
#pragma once
#include "cuda_runtime.h"

#define __pipeline_memcpy_async(destination, source, ...) kc_memcpy_async(__LINE__, destination, source, __VA_ARGS__)
#define __pipeline_commit() kc_async_commit()
#define __pipeline_wait_prior(n) kc_wait_prior(n, __LINE__)
static __forceinline__ void kc_memcpy_async(int line, void* d, const void* s, size_t bytes, size_t zeros = 0) {
  KC_FENCE();
  kc_async_copy(d, s, bytes, zeros, line);
}
static __forceinline__ void kc_wait_prior(int pending, int line) {
  KC_FENCE();
  kc_async_wait(pending, line);
  KC_FENCE();
}
