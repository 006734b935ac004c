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
/* 0, 1, 2, ... in a vector with elements of 8, 4, 2, 1 bytes in its class */
#define KC_0_3 0, 1, 2, 3
#define KC_0_7 KC_0_3, 4, 5, 6, 7
#define KC_0_15 KC_0_7, 8, 9, 10, 11, 12, 13, 14, 15
#define KC_0_31 KC_0_15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define KC_0_63 KC_0_31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, \
  56, 57, 58, 59, 60, 61, 62, 63
#if KC_BYTES == 64
#define KC_IOTA8 KC_0_7
#define KC_IOTA4 KC_0_15
#define KC_IOTA2 KC_0_31
#define KC_IOTA1 KC_0_63
#elif KC_BYTES == 32
#define KC_IOTA8 KC_0_3
#define KC_IOTA4 KC_0_7
#define KC_IOTA2 KC_0_15
#define KC_IOTA1 KC_0_31
#else
#define KC_IOTA8 0, 1
#define KC_IOTA4 KC_0_3
#define KC_IOTA2 KC_0_7
#define KC_IOTA1 KC_0_15
#endif
#define KC_INLINE static inline __attribute__((always_inline, unused))
typedef uint16_t kc_f16;
typedef uint16_t kc_bf16;
typedef uint8_t kc_f8e4m3, kc_f8e5m2, kc_u4; /* kept in memory only */
typedef int8_t kc_i4;
