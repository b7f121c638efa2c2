// SPDX-License-Identifier: Apache-2.0
// CUPTI functions that the preloaded library exports: when a program calls one, CUPTI is released to it. All
// arguments are passed on to the original.
#include "harness/attach/preload/activity.hpp"
#include "harness/attach/preload/cupti.hpp"

using namespace occbench::attach;

namespace {

int no_library() { return cupti::not_initialized; }

/// Finds the original of this function for the calling code, and releases CUPTI to the program.
void* original(const char* name, void* caller) {
  activity::yield_to(name);
  void* const found = cupti::find_program_symbol(name, caller, activity::library());
  return found != nullptr ? found : reinterpret_cast<void*>(&no_library);
}

}  // namespace

extern "C" {

#define OCCBENCH_FIND(symbol)                                                                \
  __attribute__((visibility("hidden"), used)) void* occbench_attach_##symbol(void* caller) { \
    return original(#symbol, caller);                                                        \
  }
OCCBENCH_CUPTI_ENTRY_POINTS(OCCBENCH_FIND)

__attribute__((visibility("hidden"), used)) void* occbench_attach_cuptiActivityRegisterCallbacks(
    void* caller) {
  return activity::register_callbacks_for(original("cuptiActivityRegisterCallbacks", caller));
}
}

#if defined(__x86_64__)
#define OCCBENCH_TAIL_CALL(symbol, find)                                                                 \
  __asm__(".text\n.globl " symbol "\n.type " symbol ",@function\n" symbol                                \
          ":\n"                                                                                          \
          "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  sub $8, %rsp\n" \
          "  mov 56(%rsp), %rdi\n"                                                                       \
          "  call " find                                                                                 \
          "\n"                                                                                           \
          "  add $8, %rsp\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"       \
          "  jmp *%rax\n"                                                                                \
          ".size " symbol ", .-" symbol "\n");
#elif defined(__aarch64__)
#define OCCBENCH_TAIL_CALL(symbol, find)                                                                     \
  __asm__(                                                                                                   \
      ".text\n.globl " symbol "\n.type " symbol ",%function\n" symbol                                        \
      ":\n"                                                                                                  \
      "  stp x29, x30, [sp, #-80]!\n  mov x29, sp\n"                                                         \
      "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n" \
      "  mov x0, x30\n"                                                                                      \
      "  bl " find                                                                                           \
      "\n  mov x16, x0\n"                                                                                    \
      "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n" \
      "  ldp x29, x30, [sp], #80\n  br x16\n"                                                                \
      ".size " symbol ", .-" symbol "\n");
#else
#error "no way past for this architecture"
#endif

#define OCCBENCH_CUPTI_EXPORT(symbol) OCCBENCH_TAIL_CALL(#symbol, "occbench_attach_" #symbol)
OCCBENCH_CUPTI_EXPORT(cuptiActivityRegisterCallbacks)
OCCBENCH_CUPTI_ENTRY_POINTS(OCCBENCH_CUPTI_EXPORT)
