// The functional model: launches, the scheduler, barriers, collectives, asynchronous copies. See kc_abi.h.
//
// Threads of a block are fibers of one host thread. They switch only where CUDA lets threads meet: at barriers and warp
// collectives. KC_FIBER_ORDER = forward | reverse | random[:seed] sets the order in which they, and the blocks, run.
#include "kc_state.h"

#include "kc_fiber.h"
#include "kc_memory.h"
#include "kc_hooks.h"
#include "kc_warp.h"

namespace kc {

Block block;
Warp warps[kMaxThreads / kWarp];
Fiber fibers[kMaxThreads];
Fiber* current = nullptr;
uint32_t launch_first = 1;

static uint32_t next_serial = 1;
static void* host_stack;
static char message[1024];
static bool failed;
static char* stacks;
static unsigned stack_count;
static const char* kernel_name = "";
static void (*kernel_call)(void*);
static void* kernel_context;
constexpr size_t kSlack = 1 << 20;  // below the lowest stack, so that the hook of an overflowing function can run

const char* thread_name(const Fiber* f, char* text, size_t room) {
  snprintf(text, room, "thread (%u,%u,%u)", f->index.x, f->index.y, f->index.z);
  return text;
}

void fail(const char* rule, const char* format, ...) {
  if (!failed) {
    char detail[512], who[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    if (current) {
      snprintf(message, sizeof message, "%s in %s: %s of block (%u,%u,%u): %s", rule, kernel_name,
               thread_name(current, who, sizeof who), block.index.x, block.index.y, block.index.z, detail);
      size_t used = strlen(message);
      if (current->line)
        snprintf(message + used, sizeof message - used, " [after its stop at line %d]", current->line);
      used = strlen(message);
      if (fault_place)
        snprintf(message + used, sizeof message - used, " [at +0x%zx]", (size_t)((char*)fault_place - (char*)__ehdr_start));
    } else {
      snprintf(message, sizeof message, "%s in %s: %s", rule, kernel_name, detail);
    }
    failed = true;
  }
  if (current) {
    void* abandoned = nullptr;
    current = nullptr;
    kc_switch(&abandoned, host_stack);
  }
}

static void run_next(Fiber* me) {
  Fiber* f = me;
  do {
    f = &fibers[f->next];
    if (f->state == kReady) {
      if (f == me) return;
      current = f;
      kc_switch(&me->stack_pointer, f->stack_pointer);
      return;
    }
  } while (f != me);
  const Fiber* at_block = nullptr;
  const Fiber* at_warp = nullptr;
  for (unsigned i = 0; i < block.threads; i++) {
    if (fibers[i].state == kAtBlock) at_block = &fibers[i];
    if (fibers[i].state == kAtWarp) at_warp = &fibers[i];
  }
  char a[64], b[64];
  if (at_block && at_warp)
    fail("barrier-divergence", "%s waits at __syncthreads() of line %d, %s in a warp collective of line %d",
         thread_name(at_block, a, sizeof a), at_block->line, thread_name(at_warp, b, sizeof b), at_warp->line);
  fail("warp-divergence", "%s waits in a warp collective of line %d for lanes that never come",
       thread_name(at_warp ? at_warp : me, b, sizeof b), (at_warp ? at_warp : me)->line);
}

void switch_away() {
  fault_place = nullptr;
  run_next(current);
}

static void leave() {
  Fiber* me = current;
  fault_place = nullptr;
  if (me->copy_count)
    fail("async-copy-not-awaited", "it leaves the kernel while %u asynchronous copies are in flight (the first of line %d)",
         me->copy_count, me->copies[0].line);
  me->state = kDone;
  block.done++;
  Warp& w = warps[me->linear / kWarp];
  w.gone |= kLane << me->linear % kWarp;
  char who[64];
  if (block.waiting)
    fail("barrier-divergence", "it has left the kernel, but %s waits at __syncthreads() of line %d",
         thread_name(block.first_waiting, who, sizeof who), block.barrier_line);
  if (w.arrived) {
    Fiber* other = w.fiber[first_lane(w.arrived)];
    if (other->request.mask >> me->linear % kWarp & 1)
      fail("warp-divergence", "it has left the kernel, but %s waits for it in a warp collective of line %d",
           thread_name(other, who, sizeof who), other->request.line);
  }
  if (block.done == block.threads) {
    current = nullptr;
    kc_switch(&me->stack_pointer, host_stack);
  }
  run_next(me);
}

// Called as a kernel's function starts, its frame already made.
void check_stack(uintptr_t frame) {
  if (current && frame - current->stack > kStack)
    fail("local-memory", "it uses more than %zu bytes of local memory", kStack);
}

static void start_fiber() {
  kernel_call(kernel_context);
  leave();
  abort();
}

enum Order { kForward, kReverse, kRandom };

static Order wanted_order(uint64_t* seed) {
  const char* text = getenv("KC_FIBER_ORDER");
  *seed = 1;
  if (!text) return kForward;
  if (const char* colon = strchr(text, ':')) *seed = strtoull(colon + 1, nullptr, 10) * 2 + 1;
  return text[0] == 'r' && text[1] == 'e' ? kReverse : text[0] == 'r' ? kRandom : kForward;
}

static uint64_t random_step(uint64_t* state) {  // xorshift64 (G. Marsaglia, 2003)
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

static bool reserve_stacks(unsigned threads) {
  if (threads <= stack_count) return true;
  if (stacks) munmap(stacks - kSlack, stack_count * kStack + kSlack);
  void* p = mmap(nullptr, threads * kStack + kSlack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stacks = p == MAP_FAILED ? nullptr : (char*)p + kSlack;
  stack_count = stacks ? threads : 0;
  return stacks != nullptr;
}

static void arrange(unsigned threads, Order order, uint64_t* seed) {
  static unsigned ring[kMaxThreads];
  for (unsigned i = 0; i < threads; i++) ring[i] = order == kReverse ? threads - 1 - i : i;
  for (unsigned i = threads; order == kRandom && i > 1; i--) {
    unsigned j = (unsigned)(random_step(seed) % i), t = ring[i - 1];
    ring[i - 1] = ring[j], ring[j] = t;
  }
  for (unsigned i = 0; i < threads; i++) fibers[ring[i]].next = (int)ring[(i + 1) % threads];
  block.first_waiting = &fibers[ring[0]];
}

static void run_block(Order order, uint64_t* seed) {
  kc_index s = block.size;
  unsigned threads = block.threads;
  block.done = block.waiting = 0;
  block.epoch = 0;
  block.serial = next_serial++;
  poison_shared();
  for (unsigned w = 0; w * kWarp < threads; w++) {
    unsigned count = threads - w * kWarp < kWarp ? threads - w * kWarp : kWarp;
    warps[w] = Warp{};
    warps[w].lanes = count == kWarp ? kAllLanes : (kLane << count) - 1;
  }
  for (unsigned i = 0; i < threads; i++) {
    Fiber& f = fibers[i];
    f.stack = (uintptr_t)stacks + i * kStack;
    f.index = {i % s.x, i / s.x % s.y, i / s.x / s.y};
    f.linear = i;
    f.state = kReady;
    f.line = f.group = 0;
    f.copy_count = 0;
      f.stack_pointer = fresh_stack(f.stack, kStack, start_fiber);
    warps[i / kWarp].fiber[i % kWarp] = &f;
  }
  arrange(threads, order, seed);
  current = block.first_waiting;
  block.first_waiting = nullptr;
  kc_switch(&host_stack, current->stack_pointer);
  current = nullptr;
}

static bool launch_is_legal(kc_index g, kc_index b, size_t dynamic_bytes, size_t dynamic_limit) {
  uint64_t threads = (uint64_t)b.x * b.y * b.z;
  if (!threads || threads > kMaxThreads || b.x > 1024 || b.y > 1024 || b.z > 64)
    return fail("launch-limits", "a block of (%u,%u,%u) threads; there may be 1 to 1024, z at most 64", b.x, b.y, b.z), false;
  if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    return fail("launch-limits", "a grid of (%u,%u,%u) blocks; each must be at least 1, y and z at most 65535", g.x, g.y, g.z),
           false;
  if (dynamic_bytes > dynamic_limit || dynamic_bytes > kDynamicShared)
    return fail("shared-budget", "%zu bytes of dynamic shared memory where %zu are allowed", dynamic_bytes,
                dynamic_limit < kDynamicShared ? dynamic_limit : kDynamicShared), false;
  return true;
}

}  // namespace kc

using namespace kc;

extern "C" int kc_launch(const char* name, kc_index grid, kc_index size, size_t dynamic_bytes, size_t dynamic_limit,
                         void (*call)(void*), void* context) {
  failed = false;
  fault_place = nullptr;
  kernel_name = name;
  if (!launch_is_legal(grid, size, dynamic_bytes, dynamic_limit)) return 9;
  block.threads = size.x * size.y * size.z;
  block.size = size;
  block.grid = grid;
  kernel_call = call;
  kernel_context = context;
  if (!open_memory(dynamic_bytes) || !reserve_stacks(block.threads)) return fail("host", "out of memory"), 2;
  launch_first = next_serial;
  uint64_t seed, blocks = (uint64_t)grid.x * grid.y * grid.z;
  Order order = wanted_order(&seed);
  for (uint64_t n = 0; n < blocks && !failed; n++) {
    uint64_t i = order == kReverse ? blocks - 1 - n : n;
    block.index = {(unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y), (unsigned)(i / grid.x / grid.y)};
    run_block(order, &seed);
  }
  size_t touched = failed ? 0 : shared_bytes_touched();
  if (touched > kStaticShared)
    fail("shared-budget", "the kernel uses %zu bytes of static shared memory; %zu are allowed", touched, kStaticShared);
  return failed ? 719 : 0;
}

extern "C" const char* kc_last_error(void) { return message; }
extern "C" kc_index kc_thread_index(void) { return current ? current->index : kc_index{}; }
extern "C" kc_index kc_block_index(void) { return block.index; }
extern "C" kc_index kc_block_size(void) { return block.size; }
extern "C" kc_index kc_grid_size(void) { return block.grid; }

extern "C" int kc_block_barrier(int kind, int predicate, int line) {
  Fiber* me = current;
  me->line = line;
  fault_place = nullptr;
  char who[64];
  if (block.done)
    fail("barrier-divergence", "it waits at __syncthreads() of line %d, but %u threads have left the kernel", line, block.done);
  if (!block.waiting) {
    block.first_waiting = me;
    block.barrier_line = line;
    block.barrier_kind = kind;
    block.barrier_value = kind == 2;
  } else if (block.barrier_line != line || block.barrier_kind != kind) {
    fail("barrier-divergence", "it waits at __syncthreads() of line %d, %s at that of line %d", line,
         thread_name(block.first_waiting, who, sizeof who), block.barrier_line);
  }
  me->predicate = predicate;
  if (++block.waiting < block.threads) {
    me->state = kAtBlock;
    switch_away();
    return me->predicate;
  }
  int total = 0;
  for (unsigned i = 0; i < block.threads; i++) total += fibers[i].predicate != 0;
  int value = kind == 1 ? total : kind == 2 ? total == (int)block.threads : total > 0;
  for (unsigned i = 0; i < block.threads; i++) fibers[i].predicate = value, fibers[i].state = kReady;
  block.waiting = 0;
  block.epoch++;
  return value;
}

extern "C" void kc_async_copy(void* destination, const void* source, size_t bytes, size_t zeros, int line) {
  Fiber* me = current;
  me->line = line;
  void* place = __builtin_return_address(0);
  fault_place = place;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes)
    fail("async-copy-size", "an asynchronous copy of %zu bytes; it may take 4, 8 or 16", bytes);
  if ((uintptr_t)destination % bytes || (uintptr_t)source % bytes)
    fail("misaligned-access", "an asynchronous copy of %zu bytes needs addresses that are multiples of it", bytes);
  if (!is_shared((uintptr_t)destination)) fail("async-copy-size", "an asynchronous copy into memory that is not shared");
  if (bytes > zeros) check((uintptr_t)source, bytes - zeros, kRead, place);
  start_async((uintptr_t)destination, bytes, place);
  if (me->copy_count == me->copy_room) {
    me->copy_room = me->copy_room ? me->copy_room * 2 : 16;
    me->copies = (Copy*)realloc(me->copies, me->copy_room * sizeof(Copy));
  }
  me->copies[me->copy_count++] = {destination, source, (unsigned)bytes, (unsigned)zeros, me->group, line};
}

extern "C" void kc_async_commit(void) { current->group++; }

extern "C" void kc_async_wait(int pending, int line) {
  Fiber* me = current;
  me->line = line;
  int limit = me->group - pending;
  unsigned at = 0;
  for (; at < me->copy_count && me->copies[at].group < limit; at++) {
    Copy& c = me->copies[at];
    memcpy(c.destination, c.source, c.bytes - c.zeros);
    memset((char*)c.destination + c.bytes - c.zeros, 0, c.zeros);
    finish_async((uintptr_t)c.destination, c.bytes);
  }
  me->copy_count -= at;
  memmove(me->copies, me->copies + at, me->copy_count * sizeof(Copy));
}

extern "C" void kc_atomic(void* address, size_t bytes, int line) {
  current->line = line;
  check((uintptr_t)address, bytes, kAtomic, __builtin_return_address(0));
}
