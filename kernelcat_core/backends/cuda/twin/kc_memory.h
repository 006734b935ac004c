// Every access of a kernel: is it inside its array, aligned, initialised, and ordered against the others?
//
// Each word of shared memory and each element of a tensor has a Cell: who wrote it last and who read it since. (A word
// that is touched in parts gets a Cell a byte.) Two
// accesses of which one writes must be ordered: by a __syncthreads() between them (block epochs differ), by a full
// __syncwarp() when both threads are in one warp (warp epochs differ), or by being in different launches.
#pragma once
#include "kc_state.h"

extern "C" {
extern char __start_kc_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_kc_shared[] __attribute__((weak, visibility("hidden")));
extern const char __ehdr_start[] __attribute__((weak, visibility("hidden")));
extern char _end[] __attribute__((weak, visibility("hidden")));
}

namespace kc {

enum Who : uint16_t { kNobody, kOne, kWarpMates, kBlockMates, kManyBlocks, kAsync, kAtomics };

struct Trace {
  uint32_t serial;  // block
  uint32_t epoch, warp_epoch;
  uint16_t thread;
  Who who;
};
struct Cell {
  Trace written, read;
};

struct Region {
  char name[64];
  uintptr_t base;
  size_t bytes;
  int shift;  // log2 of the bytes a Cell stands for
  bool writable, shared;
  Cell* cells;  // null: read only
  size_t cell_count;
  Cell* parts;      // shared memory: a Cell a byte, for words whose `split` is the block's serial
  uint32_t* split;
};

constexpr int kMaxRegions = 128;
static Region regions[kMaxRegions];
static int region_count = 0;
static Region shared_static, shared_dynamic;
alignas(128) static char dynamic_memory[kDynamicShared];

static void* zeroed(size_t bytes) {
  if (!bytes) return nullptr;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}
static Cell* make_cells(size_t count) { return (Cell*)zeroed(count * sizeof(Cell)); }
static void drop_cells(Region& r) {
  if (r.cells) munmap(r.cells, r.cell_count * sizeof(Cell));
  if (r.parts) munmap(r.parts, 4 * r.cell_count * sizeof(Cell));
  if (r.split) munmap(r.split, r.cell_count * sizeof(uint32_t));
  r.cells = r.parts = nullptr;
  r.split = nullptr;
}

bool is_shared(uintptr_t a) {
  return a - shared_static.base < shared_static.bytes || a - shared_dynamic.base < shared_dynamic.bytes;
}

// Whether everything that `past` stands for happened before what the running thread does now.
static bool ordered(const Trace& past) {
  if (past.who == kNobody) return true;
  if (past.serial != block.serial) return past.serial < launch_first;
  if (past.who == kManyBlocks) return false;
  if (past.epoch < block.epoch) return true;
  unsigned me = current->linear;
  if (past.who == kOne && past.thread == me) return true;
  if ((past.who == kOne || past.who == kWarpMates) && past.thread / kWarp == me / kWarp)
    return past.warp_epoch < warps[me / kWarp].epoch;
  return false;
}

static Trace now(Who who) {
  unsigned me = current->linear;
  return {block.serial, block.epoch, warps[me / kWarp].epoch, (uint16_t)me, who};
}

static void note_read(Trace& t) {
  unsigned me = current->linear;
  bool same_launch = t.who != kNobody && t.serial >= launch_first;
  if (!same_launch) {
    t = now(kOne);
  } else if (t.who == kManyBlocks || t.serial != block.serial) {
    t = now(kManyBlocks);
  } else if (t.epoch < block.epoch) {
    t = now(kOne);
  } else if (t.thread / kWarp != me / kWarp || t.who == kBlockMates) {
    t = now(kBlockMates);
  } else if (t.thread == me || t.warp_epoch < warps[me / kWarp].epoch) {
    t = now(t.who == kOne || t.warp_epoch < warps[me / kWarp].epoch ? kOne : kWarpMates);
  } else {
    t = now(kWarpMates);
  }
}

struct Named {
  char text[112];
};
static Named other(const Trace& t) {
  Named n;
  kc_index s = block.size;
  if (t.serial != block.serial) {
    snprintf(n.text, sizeof n.text, "another block");
  } else if (t.who == kBlockMates || t.who == kWarpMates) {
    snprintf(n.text, sizeof n.text, "several threads");
  } else {
    unsigned x = t.thread;
    snprintf(n.text, sizeof n.text, "thread (%u,%u,%u)", x % s.x, x / s.x % s.y, x / s.x / s.y);
  }
  return n;
}

static void describe(char* text, size_t room, const Region& r, uintptr_t a) {
  if (r.shared) {
    snprintf(text, room, "byte %zu of shared memory", (size_t)(a - r.base));
  } else {
    snprintf(text, room, "element %zu of %s", (size_t)(a - r.base) >> r.shift, r.name);
  }
}

static void* fault_place;

static void examine(const Region& r, Cell& c, uintptr_t a, Access access) {
  char where[128];
  bool fresh = r.shared ? c.written.serial != block.serial || c.written.who == kNobody : c.written.who == kNobody;
  if (r.shared && c.read.serial != block.serial) c.read.who = kNobody;
  const char* kind = r.shared ? "shared" : "global";
  if (!fresh && c.written.who == kAsync) {
    describe(where, sizeof where, r, a);
    fail("async-copy-not-awaited", "it touches %s while an asynchronous copy of %s into it is in flight", where,
         other(c.written).text);
  }
  if (access == kRead || access == kAtomic) {
    if (fresh) {
      describe(where, sizeof where, r, a);
      fail(r.shared ? "shared-uninitialised" : "global-uninitialised", "it reads %s, which nobody has written", where);
    }
  }
  bool both_atomic = access == kAtomic && c.written.who == kAtomics;
  if (!fresh && !both_atomic && !ordered(c.written)) {
    describe(where, sizeof where, r, a);
    char rule[32];
    snprintf(rule, sizeof rule, "%s-race", kind);
    fail(rule, "it %s %s, which %s wrote with no barrier between them", access == kRead ? "reads" : "writes", where,
         other(c.written).text);
  }
  if (access == kRead) {
    note_read(c.read);
    return;
  }
  if (!ordered(c.read)) {
    describe(where, sizeof where, r, a);
    char rule[32];
    snprintf(rule, sizeof rule, "%s-race", kind);
    fail(rule, "it writes %s, which %s read with no barrier between them", where, other(c.read).text);
  }
  // A thread's atomic after its own plain write does not make that write known to the others.
  bool still_plain = !fresh && c.written.who == kOne && c.written.serial == block.serial && c.written.epoch == block.epoch;
  c.written = now(access == kAtomic && !still_plain ? kAtomics : kOne);
}

// Many threads read what one wrote before the last barrier: nothing to check or to note again.
static inline bool well_known(const Cell& c) {
  return c.read.who == kBlockMates && c.read.serial == block.serial && c.read.epoch == block.epoch &&
         c.written.serial == block.serial && c.written.epoch < block.epoch && c.written.who != kAsync;
}

// The Cells that `bytes` at `a` of shared memory have now.
template <class F>
static void each_shared(Region& r, uintptr_t a, size_t bytes, F f) {
  size_t at = a - r.base, end = at + bytes;
  while (at < end) {
    size_t w = at / 4;
    bool whole = at % 4 == 0 && end - at >= 4;
    if (r.split[w] != block.serial) {
      if (whole) {
        f(r.cells[w], r.base + at);
        at += 4;
        continue;
      }
      for (int i = 0; i < 4; i++) r.parts[4 * w + i] = r.cells[w];
      r.split[w] = block.serial;
    }
    f(r.parts[at], r.base + at);
    at++;
  }
}

static Region* region_of(uintptr_t a, size_t bytes) {
  if (a - shared_static.base < shared_static.bytes) return &shared_static;
  if (a - shared_dynamic.base < shared_dynamic.bytes) return &shared_dynamic;
  static int last = 0;
  if (last < region_count && a - regions[last].base < regions[last].bytes) return &regions[last];
  for (int i = 0; i < region_count; i++)
    if (a - regions[i].base < regions[i].bytes) return &regions[last = i];
  // Not inside any tensor: name the nearest one that the access overlaps or misses by little.
  Region* nearest = nullptr;
  size_t best = 1 << 20;
  for (int i = 0; i < region_count; i++) {
    Region& r = regions[i];
    size_t far = a < r.base ? r.base - a : a - (r.base + r.bytes);
    if (far < best) best = far, nearest = &r;
  }
  const Region* shared[] = {&shared_static, &shared_dynamic};
  for (const Region* r : shared)
    if (r->bytes && a - (r->base + r->bytes) < 4096 && a - (r->base + r->bytes) < best)
      fail("shared-out-of-bounds", "it touches byte %zu of %zu bytes of shared memory", (size_t)(a - r->base), r->bytes);
  if (nearest) {
    long long at = ((long long)a - (long long)nearest->base) >> nearest->shift;
    fail("global-out-of-bounds", "it touches element %lld of %s, which has %zu elements", at, nearest->name,
         nearest->bytes >> nearest->shift);
  }
  fail("global-out-of-bounds", "it touches %zu bytes at %p, which belong to no tensor", bytes, (void*)a);
  return nullptr;
}

// Inputs, which kernels read most: in one short table, for the fast path of `check`.
struct Extent {
  uintptr_t base;
  size_t bytes;
};
constexpr int kFast = 4;
static Extent inputs[kFast];
static int input_count = 0;

void check(uintptr_t a, size_t bytes, Access access, void* place) {
  if (!current || a - current->stack < kStack) return;
  if (access == kRead && a % bytes == 0)
    for (int i = 0; i < input_count; i++)
      if (a - inputs[i].base < inputs[i].bytes && inputs[i].bytes - (a - inputs[i].base) >= bytes) return;
  fault_place = place;
  if (!is_shared(a) && a >= (uintptr_t)__ehdr_start && a < (uintptr_t)_end) {
    // Variables of the text itself: constants, __device__ variables, and the compiler's one-byte marks that a static
    // array was constructed. Just past the shared arrays it is more likely a wrong subscript.
    bool past_shared = a - (shared_static.base + shared_static.bytes) < 4096;
    bool past_dynamic = a - (uintptr_t)dynamic_memory < sizeof dynamic_memory;
    if (!past_dynamic && (access == kRead || bytes == 1 || !past_shared)) return;
  }
  Region* r = region_of(a, bytes);
  if ((bytes & (bytes - 1)) == 0 && a % bytes)
    fail("misaligned-access", "it touches %zu bytes at an address that is no multiple of %zu", bytes, bytes);
  if (a + bytes > r->base + r->bytes)
    fail(r->shared ? "shared-out-of-bounds" : "global-out-of-bounds", "it touches %zu bytes that cross the end of %s",
         bytes, r->name);
  if (access != kRead && !r->writable) fail("read-only-write", "it writes %s, which is an input", r->name);
  if (!r->cells) return;
  if (r->shared) {
    each_shared(*r, a, bytes, [=](Cell& c, uintptr_t at) {
      if (access != kRead || !well_known(c)) examine(*r, c, at, access);
    });
    return;
  }
  size_t first = (a - r->base) >> r->shift, last = (a + bytes - 1 - r->base) >> r->shift;
  for (size_t i = first; i <= last; i++) examine(*r, r->cells[i], r->base + (i << r->shift), access);
}

void check_range(uintptr_t a, size_t bytes, Access access, void* place) {
  for (size_t i = 0; i < bytes; i++) check(a + i, 1, access, place);
}

void start_async(uintptr_t a, size_t bytes, void* place) {
  check(a, bytes, kWrite, place);
  Region* r = region_of(a, bytes);
  each_shared(*r, a, bytes, [](Cell& c, uintptr_t) { c.written.who = kAsync; });
}

void finish_async(uintptr_t a, size_t bytes) {
  Region* r = region_of(a, bytes);
  each_shared(*r, a, bytes, [](Cell& c, uintptr_t) { c.written = now(kOne); });
}

// Host: everything in the range counts as written before the next launch.
void mark_written(uintptr_t a, size_t bytes) {
  for (int k = 0; k < region_count; k++) {
    Region& r = regions[k];
    if (a < r.base || a >= r.base + r.bytes || !r.cells) continue;
    for (size_t i = (a - r.base) >> r.shift; i < r.cell_count && (i << r.shift) < a - r.base + bytes; i++)
      r.cells[i].written = {0, 0, 0, 0, kOne};
  }
}

static bool make_shared(Region& r, const char* name, uintptr_t base, size_t bytes) {
  r = Region{};
  snprintf(r.name, sizeof r.name, "%s", name);
  r.base = base;
  r.bytes = bytes;
  r.writable = r.shared = true;
  r.cell_count = (bytes + 3) / 4;
  r.cells = make_cells(r.cell_count);
  r.parts = make_cells(4 * r.cell_count);
  r.split = (uint32_t*)zeroed(r.cell_count * sizeof(uint32_t));
  return !bytes || (r.cells && r.parts && r.split);
}

// Before a launch: shared memory of the kernel's text and of the launch.
bool open_memory(size_t dynamic_bytes) {
  if (!shared_static.base &&
      !make_shared(shared_static, "static shared memory", (uintptr_t)__start_kc_shared, __stop_kc_shared - __start_kc_shared))
    return false;
  drop_cells(shared_dynamic);
  return make_shared(shared_dynamic, "dynamic shared memory", (uintptr_t)dynamic_memory, dynamic_bytes);
}

void poison_shared() {  // all bits set: NaN in every float format, -1 in integers
  if (shared_static.bytes) memset((void*)shared_static.base, 0xff, shared_static.bytes);
  if (shared_dynamic.bytes) memset((void*)shared_dynamic.base, 0xff, shared_dynamic.bytes);
}

size_t shared_bytes_touched() {
  size_t words = 0;
  auto recent = [](const Cell& c) { return c.written.who != kNobody && c.written.serial >= launch_first; };
  for (size_t w = 0; w < shared_static.cell_count; w++) {
    const Cell* p = &shared_static.parts[4 * w];
    words += recent(shared_static.cells[w]) || recent(p[0]) || recent(p[1]) || recent(p[2]) || recent(p[3]);
  }
  return 4 * words;
}

static void add_region(const char* name, void* base, size_t bytes, int element, bool writable) {
  if (region_count == kMaxRegions) return;
  Region& r = regions[region_count++];
  r = Region{};
  snprintf(r.name, sizeof r.name, "%s", name);
  r.base = (uintptr_t)base;
  r.bytes = bytes;
  r.shift = element >= 8 ? 3 : element >= 4 ? 2 : element >= 2 ? 1 : 0;
  r.writable = writable;
  r.cell_count = writable ? bytes >> r.shift : 0;
  r.cells = make_cells(r.cell_count);
  if (!writable && input_count < kFast) inputs[input_count++] = {r.base, bytes};
}

}  // namespace kc

extern "C" void kc_forget_tensors(void) {
  for (int i = 0; i < kc::region_count; i++) kc::drop_cells(kc::regions[i]);
  kc::region_count = kc::input_count = 0;
}
extern "C" void kc_tensor(const char* name, void* base, size_t bytes, int element, int writable) {
  kc::add_region(name, base, bytes, element, writable != 0);
}
extern "C" void* kc_dynamic_shared(void) { return (void*)kc::shared_dynamic.base; }

// A workspace: cudaMalloc gives memory that holds nothing yet.
extern "C" int kc_malloc(void** pointer, size_t bytes) {
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256 + (bytes == 0) * 256);
  if (!*pointer) return 2;
  memset(*pointer, 0xff, bytes);
  kc::add_region("a workspace", *pointer, bytes, 1, true);
  return 0;
}
extern "C" void kc_free(void* pointer) {
  for (int i = 0; i < kc::region_count; i++) {
    if (kc::regions[i].base != (uintptr_t)pointer) continue;
    kc::drop_cells(kc::regions[i]);
    kc::regions[i] = kc::regions[--kc::region_count];
    free(pointer);
    return;
  }
}
extern "C" int kc_memset(void* pointer, int value, size_t bytes) {
  memset(pointer, value, bytes);
  kc::mark_written((uintptr_t)pointer, bytes);
  return 0;
}
