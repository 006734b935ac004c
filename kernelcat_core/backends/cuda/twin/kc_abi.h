// The calls between a CUDA text that runs on the CPU and the functional model below it.
//
// The text is compiled with -fsanitize=thread,bounds,alignment,shift,integer-divide-by-zero. No sanitizer library is linked:
// kc_runtime.cpp defines the functions to which those options send every memory access, so that each one is checked
// against CUDA's rules. The runtime itself is compiled without these options.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Threads of a warp, and shared memory that may be declared without asking: a target's own values are defined before.
#ifndef KC_WARP
#define KC_WARP 32
#endif
#ifndef KC_STATIC_SHARED
#define KC_STATIC_SHARED (48 << 10)
#endif
#if KC_WARP == 64
typedef uint64_t kc_mask;  // one bit a lane
#else
typedef uint32_t kc_mask;
#endif

struct kc_index {
  unsigned x, y, z;
};

extern "C" {
// Indices of the running thread. They never change within one activation of a kernel, hence `const`.
kc_index kc_thread_index(void) __attribute__((const));
kc_index kc_block_index(void) __attribute__((const));
kc_index kc_block_size(void) __attribute__((const));
kc_index kc_grid_size(void) __attribute__((const));

// `kind` 0: plain; 1: count; 2: and; 3: or of `predicate` over the block.
int kc_block_barrier(int kind, int predicate, int line);
void kc_warp_barrier(kc_mask mask, int line);
// `kind` 0: idx, 1: up, 2: down, 3: xor, as the four __shfl_*_sync.
uint64_t kc_shuffle(int kind, kc_mask mask, uint64_t value, int operand, int width, int line);
kc_mask kc_ballot(kc_mask mask, int predicate, int line);
kc_mask kc_active_mask(void);

void kc_async_copy(void* destination, const void* source, size_t bytes, size_t zeros, int line);
void kc_async_commit(void);
void kc_async_wait(int pending_groups, int line);

// Checks an atomic access; the caller then does it.
void kc_atomic(void* address, size_t bytes, int line);
void* kc_dynamic_shared(void);

// Tensor-core steps of a whole warp; fragments are laid out as PTX documents them.
void kc_ldmatrix_x4(unsigned r[4], const void* row, int transposed, int line);
void kc_mma_16816(float d[4], const unsigned a[4], const unsigned b[2], int bfloat, int line);

// Host side. `element` is the size of an element in bytes (a power of two up to 8).
void kc_forget_tensors(void);
void kc_tensor(const char* name, void* base, size_t bytes, int element, int writable);
int kc_launch(const char* kernel, kc_index grid, kc_index block, size_t dynamic_bytes, size_t dynamic_limit,
              void (*call)(void*), void* context);
int kc_malloc(void** pointer, size_t bytes);
void kc_free(void* pointer);
int kc_memset(void* pointer, int value, size_t bytes);
__attribute__((visibility("default"))) const char* kc_last_error(void);
}
