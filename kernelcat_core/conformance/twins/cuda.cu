// One kernel a fault, each legal C++ that a compiler accepts and hardware may or may not survive.
// In (X, 256 floats) is an input, Y (256 floats) an output that holds nothing at first. Blocks have 64 threads.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define KERNEL extern "C" __global__ void
#define ARGUMENTS (const float* X, float* Y, int n)

KERNEL good ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = X[blockIdx.x * 64 + t];
  __syncthreads();
  Y[blockIdx.x * 64 + t] = s[63 - t] + __shfl_xor_sync(~0u, s[t], 1);
}
KERNEL missing_barrier ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = X[t];
  Y[t] = s[63 - t];
}
KERNEL missing_second_barrier ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 2; k++) {
    s[t] = X[t + k];
    __syncthreads();
    sum += s[63 - t];
  }
  Y[t] = sum;
}
KERNEL warp_barrier_too_weak ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = X[t];
  __syncwarp();
  Y[t] = s[63 - t];
}
KERNEL shuffle_is_no_barrier ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = X[t];
  float other = __shfl_xor_sync(~0u, X[t], 1);
  Y[t] = s[t ^ 1] + other;
}
KERNEL write_write_race ARGUMENTS {
  __shared__ float s[64];
  s[threadIdx.x / 2] = X[threadIdx.x];
  __syncthreads();
  Y[threadIdx.x] = s[threadIdx.x / 2];
}
KERNEL divergent_barrier ARGUMENTS {
  if (threadIdx.x < 40) __syncthreads();
  Y[threadIdx.x] = 1;
}
KERNEL two_barriers ARGUMENTS {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  Y[threadIdx.x] = 1;
}
KERNEL early_exit ARGUMENTS {
  if (threadIdx.x >= 60) return;
  __syncthreads();
  Y[threadIdx.x] = 1;
}
KERNEL divergent_shuffle ARGUMENTS {
  float v = X[threadIdx.x];
  if (threadIdx.x % 32 < 16) v += __shfl_xor_sync(~0u, v, 1);
  Y[threadIdx.x] = v;
}
KERNEL shuffle_from_outside_the_mask ARGUMENTS {
  float v = X[threadIdx.x];
  if (threadIdx.x % 32 < 16) v += __shfl_sync(0x0000ffffu, v, 20);
  Y[threadIdx.x] = v;
}
KERNEL barrier_against_shuffle ARGUMENTS {
  float v = X[threadIdx.x];
  if (threadIdx.x < 32 || threadIdx.x >= 48)
    __syncthreads();
  else
    v = __shfl_xor_sync(~0u, v, 1);
  Y[threadIdx.x] = v;
}
KERNEL read_past_the_end ARGUMENTS { Y[threadIdx.x] = X[threadIdx.x + 200]; }
KERNEL read_before_the_start ARGUMENTS { Y[threadIdx.x] = X[(int)threadIdx.x - 1]; }
KERNEL write_past_the_end ARGUMENTS { Y[threadIdx.x * 5] = X[threadIdx.x]; }
KERNEL write_to_input ARGUMENTS { ((float*)X)[threadIdx.x] = 1; }
KERNEL read_of_unwritten_output ARGUMENTS { Y[threadIdx.x] += X[threadIdx.x]; }
KERNEL all_threads_write_one_element ARGUMENTS { Y[0] = X[0]; }
KERNEL blocks_write_one_element ARGUMENTS { Y[threadIdx.x] = X[threadIdx.x]; }
KERNEL unordered_atomic ARGUMENTS {
  __shared__ float s;
  if (threadIdx.x == 0) s = 0;
  atomicAdd(&s, X[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) Y[0] = s;
}
KERNEL uninitialised_shared ARGUMENTS {
  __shared__ float s[64];
  if (threadIdx.x < 50) s[threadIdx.x] = X[threadIdx.x];
  __syncthreads();
  Y[threadIdx.x] = s[threadIdx.x];
}
KERNEL subscript_into_the_next_row ARGUMENTS {
  __shared__ float s[8][8];
  int t = threadIdx.x;
  s[t / 8][t % 8] = X[t];
  __syncthreads();
  Y[t] = s[t / 8][t % 8 + n / 256];
}
KERNEL local_subscript ARGUMENTS {
  float local[4] = {1, 2, 3, 4};
  Y[threadIdx.x] = local[threadIdx.x / 8];
}
KERNEL dynamic_shared_past_the_end ARGUMENTS {
  extern __shared__ float dynamic[];
  dynamic[threadIdx.x] = X[threadIdx.x];
  Y[threadIdx.x] = dynamic[threadIdx.x];
}
KERNEL misaligned_vector ARGUMENTS {
  float4 v = *(const float4*)(X + 1 + threadIdx.x);
  Y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
KERNEL copy_without_wait ARGUMENTS {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &X[threadIdx.x], 4);
  __pipeline_commit();
  __syncthreads();
  Y[threadIdx.x] = s[63 - threadIdx.x];
}
KERNEL wait_for_the_wrong_group ARGUMENTS {
  __shared__ float s[2][64];
  for (int k = 0; k < 2; k++) {
    __pipeline_memcpy_async(&s[k][threadIdx.x], &X[k * 64 + threadIdx.x], 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  Y[threadIdx.x] = s[1][63 - threadIdx.x];
}
KERNEL wait_without_barrier ARGUMENTS {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &X[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  Y[threadIdx.x] = s[63 - threadIdx.x];
}
KERNEL leaves_with_copies_in_flight ARGUMENTS {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &X[threadIdx.x], 4);
  Y[threadIdx.x] = 0;
}
KERNEL copy_of_two_bytes ARGUMENTS {
  __shared__ half s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], (const half*)X + threadIdx.x, 2);
  Y[threadIdx.x] = 0;
}
KERNEL copy_into_a_slot_in_use ARGUMENTS {
  __shared__ float s[64];
  s[threadIdx.x] = X[threadIdx.x];
  __syncthreads();
  float v = s[63 - threadIdx.x];
  __pipeline_memcpy_async(&s[threadIdx.x], &X[threadIdx.x + 64], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  Y[threadIdx.x] = v;
}
KERNEL division_by_zero ARGUMENTS { Y[threadIdx.x] = X[0] + (float)(n / (int)(threadIdx.x % 2)); }
KERNEL shift_too_far ARGUMENTS { Y[threadIdx.x] = (float)(1 << (threadIdx.x + n / 8)); }
KERNEL too_much_static_shared ARGUMENTS {
  __shared__ float s[13 * 1024];
  for (int i = threadIdx.x; i < 13 * 1024; i += 64) s[i] = X[0];
  __syncthreads();
  Y[threadIdx.x] = s[threadIdx.x];
}
KERNEL too_much_local_memory ARGUMENTS {
  volatile float local[20000];
  for (int i = 0; i < 20000; i++) local[i] = (float)i;
  Y[threadIdx.x] = local[n];
}
// ---- a second set, written when the model was done
KERNEL last_round_without_barrier ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 3; k++) {
    s[t] = X[t + k];
    if (k < 2) __syncthreads();
    sum += s[63 - t];
    if (k < 2) __syncthreads();
  }
  Y[t] = sum;
}
KERNEL half_of_a_warp_waits ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = X[t];
  if (t % 32 < 16) {
    __syncwarp(0x0000ffffu);
    Y[t] = s[t + 16];
  } else {
    Y[t] = 0;
  }
}
KERNEL plain_store_beside_atomics ARGUMENTS {
  if (threadIdx.x == 0)
    Y[0] = 0;
  else
    atomicAdd(&Y[0], X[threadIdx.x]);
}
KERNEL the_other_half_of_the_buffer ARGUMENTS {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[0][t], &X[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 2; k++) {
    if (k < 1) __pipeline_memcpy_async(&s[(k + 1) & 1][t], &X[64 * (k + 1) + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[(k + 1) & 1][t];
    __syncthreads();
  }
  Y[t] = sum;
}
KERNEL wait_count_wrong_in_the_tail ARGUMENTS {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[0][t], &X[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 3; k++) {
    if (k < 2) {
      __pipeline_memcpy_async(&s[(k + 1) & 1][t], &X[64 * (k + 1) + t], 4);
      __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[k & 1][t];
    __syncthreads();
  }
  Y[t] = sum;
}
KERNEL shuffle_after_some_left ARGUMENTS {
  float v = X[threadIdx.x];
  if (threadIdx.x >= 48) return;
  v += __shfl_down_sync(~0u, v, 8);
  Y[threadIdx.x] = v;
}
KERNEL tree_that_trusts_the_warp ARGUMENTS {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = X[t];
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    if (h > 16) __syncthreads();
  }
  if (t == 0) Y[0] = s[0];
}
KERNEL one_step_too_many ARGUMENTS {
  for (int i = threadIdx.x; i <= n; i += 64) Y[i] = X[i];
}
KERNEL atomics_read_too_early ARGUMENTS {
  __shared__ float s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&s, X[threadIdx.x]);
  Y[threadIdx.x] = s;
}
KERNEL vector_store_off_by_one ARGUMENTS {
  *(float2*)(Y + 1 + 2 * threadIdx.x) = make_float2(X[0], X[1]);
}
KERNEL plain ARGUMENTS { Y[blockIdx.x * blockDim.x + threadIdx.x] = X[0]; }
