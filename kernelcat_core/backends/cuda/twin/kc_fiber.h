// A switch between two stacks: callee-saved registers on the old one, then the other's. About 2 ns.
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(KC_UCONTEXT)
#define KC_SWITCH 1
asm(R"(
.text
.globl kc_switch
.hidden kc_switch
.type kc_switch, @function
kc_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kc_switch, .-kc_switch
)");
#elif defined(__aarch64__) && !defined(KC_UCONTEXT)
#define KC_SWITCH 1
asm(R"(
.text
.globl kc_switch
.hidden kc_switch
.type kc_switch, %function
kc_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size kc_switch, .-kc_switch
)");
#else
#include <stdlib.h>
#include <ucontext.h>
#endif

namespace kc {
#ifdef KC_SWITCH
extern "C" void kc_switch(void** save, void* to) __attribute__((visibility("hidden")));

static void* fresh_stack(uintptr_t low, size_t bytes, void (*start)()) {
#if defined(__x86_64__)
  void** top = (void**)(low + bytes - 24);
  top[0] = nullptr;         // what `start` would return to; 8 below a multiple of 16, as after a call
  top[-1] = (void*)start;   // popped by ret
  memset(top - 7, 0, 6 * sizeof(void*));
  return top - 7;
#else
  char* top = (char*)(low + bytes - 160);
  memset(top, 0, 160);
  *(void**)(top + 88) = (void*)start;  // x30
  return top;
#endif
}
#else
// Elsewhere: swapcontext. A "stack pointer" is then a pointer to a context.
static void kc_switch(void** save, void* to) {
  if (!*save) *save = calloc(1, sizeof(ucontext_t));
  swapcontext((ucontext_t*)*save, (ucontext_t*)to);
}
static void* fresh_stack(uintptr_t low, size_t bytes, void (*start)()) {
  ucontext_t* c = (ucontext_t*)low;
  getcontext(c);
  c->uc_stack.ss_sp = (void*)(low + 4096);
  c->uc_stack.ss_size = bytes - 4096;
  c->uc_link = nullptr;
  makecontext(c, start, 0);
  return c;
}
#endif
}  // namespace kc
