// What the functional model knows while a kernel runs: fibers, warps, the block, memory.
#pragma once
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "kc_abi.h"

namespace kc {

constexpr kc_mask kLane = 1, kAllLanes = ~(kc_mask)0;
inline unsigned count_lanes(kc_mask mask) { return (unsigned)__builtin_popcountll(mask); }
inline unsigned first_lane(kc_mask mask) { return (unsigned)__builtin_ctzll(mask); }
constexpr unsigned kWarp = KC_WARP, kMaxThreads = 1024;
constexpr size_t kStack = 64 << 10;          // bytes of local memory and call frames a thread may use
constexpr size_t kStaticShared = KC_STATIC_SHARED;  // the limit on statically declared shared memory of a kernel
constexpr size_t kDynamicShared = 227 << 10; // most that any supported architecture gives a block

struct Copy {  // one asynchronous copy that has not been waited for
  void* destination;
  const void* source;
  unsigned bytes, zeros;
  int group, line;
};

enum State : uint8_t { kReady, kAtBlock, kAtWarp, kDone };

struct Request {  // a lane's part in a warp collective; the last lane to arrive completes it for all
  int kind, line;
  kc_mask mask;
  void* payload;
};

struct Fiber {
  void* stack_pointer;
  uintptr_t stack;  // lowest address
  kc_index index;
  unsigned linear;
  int next;  // who runs after this one, a ring over the block
  State state;
  int line;  // of the last barrier, collective or asynchronous copy
  int predicate;
  int group;
  Copy* copies;
  unsigned copy_count, copy_room;
  Request request;
};

struct Warp {
  kc_mask lanes;     // that exist
  kc_mask gone;      // that have left the kernel
  kc_mask arrived;   // that wait in a collective
  uint32_t epoch;    // full __syncwarp()s so far in this block
  Fiber* fiber[kWarp];
};

struct Block {
  unsigned threads, done, waiting;
  int barrier_line, barrier_kind;
  Fiber* first_waiting;
  int barrier_value;
  uint32_t epoch;   // __syncthreads()s so far
  uint32_t serial;  // of the block, over all launches
  kc_index index, size, grid;
};

extern Block block;
extern Warp warps[kMaxThreads / kWarp];
extern Fiber fibers[kMaxThreads];
extern Fiber* current;         // null on the host
extern uint32_t launch_first;  // serial of the first block of this launch

// Ends the launch with an error; does not return when a fiber calls it.
void fail(const char* rule, const char* format, ...) __attribute__((format(printf, 2, 3)));
void switch_away();
void check_stack(uintptr_t frame);

// Memory. `place` is the return address of the access, for the source line.
enum Access { kRead, kWrite, kAtomic };
void check(uintptr_t address, size_t bytes, Access access, void* place);
void check_range(uintptr_t address, size_t bytes, Access access, void* place);
void start_async(uintptr_t address, size_t bytes, void* place);
void finish_async(uintptr_t address, size_t bytes);
void mark_written(uintptr_t address, size_t bytes);
bool is_shared(uintptr_t address);
bool open_memory(size_t dynamic_bytes);
void poison_shared();
size_t shared_bytes_touched();

const char* thread_name(const Fiber* f, char* text, size_t room);

}  // namespace kc
