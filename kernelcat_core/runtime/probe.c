/* Peak probes of device.py: fused multiply-adds in registers, and copies in a working set of a chosen size.
 * Entries follow the contract of runner.py; sizes = {threads, bytes of each thread's half, passes};
 * output 0 = {units (operations or bytes) of all threads, seconds of the slowest}. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#define REGISTER "+v"
#elif defined(__AVX__)
#define LANES 8
#define REGISTER "+x"
#else
#define LANES 4
#define REGISTER "+x"
#endif
#if defined(__aarch64__)
#undef REGISTER
#define REGISTER "+w"
#endif
#define CHAINS 12 /* latency 4 x two units, with room */
#define MOST_THREADS 256
typedef float vec __attribute__((vector_size(LANES * 4)));

typedef struct {
  int64_t bytes, passes;
  pthread_barrier_t *start;
  double units, seconds;
  int failed;
} work;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* One chain; the empty assembler text keeps its sum in a register and the compiler from merging chains. */
#define STEP(sum) sum = sum * x + y; __asm__ volatile("" : REGISTER(sum));

static void *flops(void *argument) {
  work *w = argument;
  vec x, y;
  for (int l = 0; l < LANES; l++) x[l] = 0.999f, y[l] = 1e-3f;
  vec a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, m = x;
  pthread_barrier_wait(w->start);
  double begin = now();
  for (int64_t pass = 0; pass < w->passes; pass++) {
    STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(m)
  }
  w->seconds = now() - begin;
  w->units = 2.0 * LANES * CHAINS * (double)w->passes;
  return NULL;
}

/* Streaming stores where the working set leaves the caches: a plain store would read the line first. */
static void copy_once(char *to, const char *from, int64_t bytes, int stream) {
#if defined(__AVX__)
  if (stream) {
    for (int64_t i = 0; i < bytes; i += 32)
      _mm256_stream_si256((__m256i *)(to + i), _mm256_load_si256((const __m256i *)(from + i)));
    _mm_sfence();
    return;
  }
#endif
  for (int64_t i = 0; i < bytes; i += sizeof(vec)) *(vec *)(to + i) = *(const vec *)(from + i);
  __asm__ volatile("" ::: "memory");
}

static void *copy(void *argument) {
  work *w = argument;
  int64_t bytes = w->bytes / 4096 * 4096;
  char *from = NULL, *to = NULL;
  if (posix_memalign((void **)&from, 4096, bytes) || posix_memalign((void **)&to, 4096, bytes)) w->failed = 1;
  else memset(from, 1, bytes), memset(to, 2, bytes);
  pthread_barrier_wait(w->start);
  if (w->failed) return NULL;
  double begin = now();
  for (int64_t i = 0; i < w->passes; i++) copy_once(to, from, bytes, bytes > (32 << 20));
  w->seconds = now() - begin;
  w->units = 2.0 * (double)bytes * (double)w->passes;
  free(from), free(to);
  return NULL;
}

static int run(void *(*body)(void *), void **tensors, const int64_t *sizes) {
  int threads = (int)sizes[0], failed = 0;
  if (threads < 1 || threads > MOST_THREADS) return 1;
  pthread_t handles[MOST_THREADS];
  work works[MOST_THREADS];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, threads);
  for (int t = 0; t < threads; t++) {
    works[t] = (work){sizes[1], sizes[2], &start, 0, 0, 0};
    if (pthread_create(&handles[t], NULL, body, &works[t])) return 2;
  }
  double units = 0, seconds = 0;
  for (int t = 0; t < threads; t++) {
    pthread_join(handles[t], NULL);
    units += works[t].units;
    failed |= works[t].failed;
    if (works[t].seconds > seconds) seconds = works[t].seconds;
  }
  ((double *)tensors[0])[0] = units;
  ((double *)tensors[0])[1] = seconds;
  return failed ? 3 : 0;
}

int probe_flops(void **tensors, const int64_t *sizes) { return run(flops, tensors, sizes); }
int probe_copy(void **tensors, const int64_t *sizes) { return run(copy, tensors, sizes); }
