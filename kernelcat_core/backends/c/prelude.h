#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__AVX512F__)
#define KC_BYTES 64 /* of one vector register */
#elif defined(__AVX__)
#define KC_BYTES 32
#else
#define KC_BYTES 16
#endif
#define KC_INLINE static inline __attribute__((always_inline, unused))
typedef uint16_t kc_f16;
typedef uint16_t kc_bf16;
