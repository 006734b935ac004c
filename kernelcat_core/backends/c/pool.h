/* Threads: a pool that lives as long as the process. Workers look for the next job for about 30 microseconds, then sleep. */
int kc_threads = 0; /* how many threads a launch uses; 0: one a processor. The runtime sets it. */

typedef void (*kc_body)(void *const *tensors, const int64_t *sizes, int64_t begin, int64_t end);

static struct {
  kc_body body;
  void *const *tensors;
  const int64_t *sizes;
  int64_t total, grain;
  _Atomic int64_t next;     /* first cell that nobody has taken */
  _Atomic uint32_t gate;    /* bit 31: a job is open; the rest: workers inside it */
  _Atomic int sleepers;
  int workers, limit; /* threads that exist; threads that may enter a job */
  pthread_mutex_t lock;
  pthread_cond_t wake;
} kc_pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
static pthread_mutex_t kc_pool_lock = PTHREAD_MUTEX_INITIALIZER; /* one caller has the threads */
static pthread_mutex_t kc_entry_lock = PTHREAD_MUTEX_INITIALIZER; /* one launch at a time */

#define KC_OPEN 0x80000000u

static inline void kc_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void kc_take_cells(void) {
  for (;;) {
    int64_t begin = atomic_fetch_add(&kc_pool.next, kc_pool.grain);
    if (begin >= kc_pool.total) return;
    int64_t end = begin + kc_pool.grain;
    kc_pool.body(kc_pool.tensors, kc_pool.sizes, begin, end < kc_pool.total ? end : kc_pool.total);
  }
}

static void *kc_worker(void *unused) {
  (void)unused;
  for (;;) {
    uint32_t gate = atomic_load(&kc_pool.gate);
    for (int spin = 0; spin < 800 && !(gate & KC_OPEN); spin++) {
      kc_pause();
      gate = atomic_load(&kc_pool.gate);
    }
    if (!(gate & KC_OPEN)) {
      pthread_mutex_lock(&kc_pool.lock);
      atomic_fetch_add(&kc_pool.sleepers, 1);
      while (!(atomic_load(&kc_pool.gate) & KC_OPEN)) pthread_cond_wait(&kc_pool.wake, &kc_pool.lock);
      atomic_fetch_sub(&kc_pool.sleepers, 1);
      pthread_mutex_unlock(&kc_pool.lock);
      continue;
    }
    if ((gate & ~KC_OPEN) >= (uint32_t)kc_pool.limit) {
      kc_pause();
      continue;
    }
    if (!atomic_compare_exchange_strong(&kc_pool.gate, &gate, gate + 1)) continue;
    kc_take_cells();
    atomic_fetch_sub(&kc_pool.gate, 1);
    while (atomic_load(&kc_pool.gate) & KC_OPEN && atomic_load(&kc_pool.next) >= kc_pool.total) kc_pause();
  }
  return 0;
}

static void kc_forget_workers(void) { /* in the child of a fork there are none */
  kc_pool.workers = 0;
  atomic_store(&kc_pool.gate, 0);
  atomic_store(&kc_pool.sleepers, 0);
  pthread_mutex_init(&kc_pool.lock, 0);
  pthread_mutex_init(&kc_entry_lock, 0);
  pthread_mutex_init(&kc_pool_lock, 0);
  pthread_cond_init(&kc_pool.wake, 0);
}

static void kc_start_workers(int wanted) {
  static int registered;
  if (!registered) {
    registered = 1;
    pthread_atfork(0, 0, kc_forget_workers);
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 8u << 20);
  for (pthread_t id; kc_pool.workers < wanted; kc_pool.workers++)
    if (pthread_create(&id, &attributes, kc_worker, 0)) break; /* fewer threads: slower, not wrong */
  pthread_attr_destroy(&attributes);
}

/* Calls body over all cells, in pieces of `grain`; one caller at a time has the threads, others go on alone. */
static void kc_spread(kc_body body, void *const *tensors, const int64_t *sizes, int64_t total, int64_t grain, int threads) {
  if (pthread_mutex_trylock(&kc_pool_lock)) {
    body(tensors, sizes, 0, total);
    return;
  }
  if (kc_pool.workers < threads - 1) kc_start_workers(threads - 1);
  kc_pool.limit = threads - 1;
  kc_pool.body = body, kc_pool.tensors = tensors, kc_pool.sizes = sizes, kc_pool.total = total, kc_pool.grain = grain;
  atomic_store(&kc_pool.next, 0);
  atomic_store(&kc_pool.gate, KC_OPEN);
  if (atomic_load(&kc_pool.sleepers)) {
    pthread_mutex_lock(&kc_pool.lock);
    pthread_cond_broadcast(&kc_pool.wake);
    pthread_mutex_unlock(&kc_pool.lock);
  }
  kc_take_cells();
  atomic_fetch_and(&kc_pool.gate, ~KC_OPEN);
  for (int spin = 0; atomic_load(&kc_pool.gate); spin++) {
    if (spin > 10000) sched_yield(); /* more threads than processors: let the last one finish */
    else kc_pause();
  }
  pthread_mutex_unlock(&kc_pool_lock);
}

/* The pool that launches use: the runtime points all libraries of a process to one. */
void (*kc_dispatch)(kc_body, void *const *, const int64_t *, int64_t, int64_t, int) = kc_spread;

/* Pieces of about an eighth of each thread's share, at least `grain` cells. */
static void kc_launch(kc_body body, void *const *tensors, const int64_t *sizes, int64_t total, int64_t grain) {
  int threads = kc_threads > 0 ? kc_threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
  int64_t share = total / ((int64_t)threads * 8);
  if (total <= 0) return;
  if (share > grain) grain = share;
  if (threads < 2 || total <= grain) body(tensors, sizes, 0, total);
  else kc_dispatch(body, tensors, sizes, total, grain, threads);
}

/* Memory between programs: kept from call to call, grown when needed. */
static const char *kc_message = "";
const char *kc_last_error(void) { return kc_message; }

static void *kc_workspace(void **slot, int64_t *capacity, int64_t bytes) {
  if (bytes > *capacity) {
    free(*slot);
    *capacity = (bytes + 4095) / 4096 * 4096;
    *slot = aligned_alloc(64, (size_t)*capacity);
    if (!*slot) *capacity = 0;
  }
  return *slot;
}
