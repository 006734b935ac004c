// The functions that -fsanitize=thread,bounds,alignment,shift,integer-divide-by-zero make the compiler call.
#pragma once
#include "kc_state.h"

#define KC_PLACE __builtin_return_address(0)
#define KC_HOOK(n)                                                                                            \
  void __tsan_read##n(void* p) { kc::check((uintptr_t)p, n, kc::kRead, KC_PLACE); }                           \
  void __tsan_write##n(void* p) { kc::check((uintptr_t)p, n, kc::kWrite, KC_PLACE); }                         \
  void __tsan_unaligned_read##n(void* p) { kc::check_range((uintptr_t)p, n, kc::kRead, KC_PLACE); }           \
  void __tsan_unaligned_write##n(void* p) { kc::check_range((uintptr_t)p, n, kc::kWrite, KC_PLACE); }         \
  void __tsan_volatile_read##n(void* p) { kc::check((uintptr_t)p, n, kc::kRead, KC_PLACE); }                  \
  void __tsan_volatile_write##n(void* p) { kc::check((uintptr_t)p, n, kc::kWrite, KC_PLACE); }

namespace kc {
struct Place {  // the layout that the compiler emits for a source position
  const char* file;
  uint32_t line, column;
};
struct Mismatch {
  Place place;
  const void* type;
  unsigned char alignment_log2, kind;
};
}  // namespace kc

extern "C" {
void __tsan_init(void) {}
void __tsan_func_entry(void*) { kc::check_stack((uintptr_t)__builtin_frame_address(0)); }
void __tsan_func_exit(void) {}
KC_HOOK(1)
KC_HOOK(2)
KC_HOOK(4)
KC_HOOK(8)
KC_HOOK(16)
void __tsan_read_range(void* p, size_t n) { kc::check_range((uintptr_t)p, n, kc::kRead, KC_PLACE); }
void __tsan_write_range(void* p, size_t n) { kc::check_range((uintptr_t)p, n, kc::kWrite, KC_PLACE); }
void __tsan_vptr_update(void*, void*) {}
void* __tsan_memcpy(void* d, const void* s, size_t n) { return memcpy(d, s, n); }
void* __tsan_memmove(void* d, const void* s, size_t n) { return memmove(d, s, n); }
void* __tsan_memset(void* d, int v, size_t n) { return memset(d, v, n); }

void __ubsan_handle_out_of_bounds(const kc::Place* place, size_t index) {
  kc::fail("array-out-of-bounds", "line %u: subscript %lld leaves its array", place->line, (long long)index);
}
void __ubsan_handle_type_mismatch_v1(const kc::Mismatch* m, size_t) {
  kc::fail("misaligned-access", "line %u: an address that is no multiple of %u", m->place.line, 1u << m->alignment_log2);
}
void __ubsan_handle_shift_out_of_bounds(const kc::Place* place, size_t, size_t by) {
  kc::fail("shift-range", "line %u: a shift by %lld leaves its type", place->line, (long long)by);
}
void __ubsan_handle_divrem_overflow(const kc::Place* place, size_t, size_t) {
  kc::fail("division-by-zero", "line %u: an integer is divided by zero or overflows", place->line);
}
}
