// SPDX-License-Identifier: Apache-2.0
// Exports of the preloaded library: the driver's names for programs linked to it, dlsym for programs that
// look them up, and the exit functions. Everything else passes through unchanged.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "harness/attach/preload/activity.hpp"
#include "harness/attach/preload/attached.hpp"
#include "harness/attach/preload/cupti.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/hooks.hpp"

#define OCCBENCH_EXPORT extern "C" __attribute__((visibility("default")))

namespace occbench::attach {
namespace {

/// The replacement of this driver function, for a program linked to the driver.
template <class Function>
Function find_linked(const char* name) {
  void* const original = libcuda_symbol(name);
  return reinterpret_cast<Function>(original == nullptr ? nullptr : replacement_for(name, original, false));
}

// Looked up before main: a signal handler must not call dlsym.
void (*original__exit)(int) = nullptr, (*original__Exit)(int) = nullptr;
__attribute__((constructor)) void find_originals() {
  if (original_dlsym() == nullptr) return;
  original__exit = reinterpret_cast<void (*)(int)>(original_dlsym()(RTLD_NEXT, "_exit"));
  original__Exit = reinterpret_cast<void (*)(int)>(original_dlsym()(RTLD_NEXT, "_Exit"));
}

}  // namespace
}  // namespace occbench::attach

using namespace occbench::attach;

extern "C" {

__attribute__((visibility("hidden"))) void* occbench_attach_dlsym = nullptr;

/// The replacement for a name passed to dlsym; null: use the original's answer.
__attribute__((visibility("hidden"), used)) void* occbench_attach_find(void* handle, const char* name) {
  const auto original = original_dlsym();
  occbench_attach_dlsym = reinterpret_cast<void*>(original);
  if (name == nullptr || original == nullptr || activity::is_within()) return nullptr;
  if (const char* const cupti = cupti::find_entry_point(name)) {
    activity::yield_to(cupti);
    void* const own = handle == RTLD_DEFAULT || handle == RTLD_NEXT ? nullptr : original(handle, name);
    void* const replacement = std::strcmp(name, "cuptiActivityRegisterCallbacks") == 0 && own != nullptr
                                  ? activity::register_callbacks_for(own)
                                  : own;
    return replacement == own ? nullptr : replacement;
  }
  if (!is_hooked(name)) return nullptr;
  void* found = libcuda_symbol(name);
  if (found == nullptr) return nullptr;
  // If the handle lacks the name, the original reports the error.
  if (handle != RTLD_DEFAULT && handle != RTLD_NEXT && original(handle, name) == nullptr) return nullptr;
  return replacement_for(name, found, false);
}
}

// dlsym inspects its return address (RTLD_NEXT), so jump to the original instead of calling it.
#if defined(__x86_64__)
__asm__(
    ".text\n.globl dlsym\n.type dlsym,@function\n"
    "dlsym:\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  sub $8, %rsp\n"
    "  call occbench_attach_find\n"
    "  add $8, %rsp\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  test %rax, %rax\n"
    "  jz 1f\n"
    "  ret\n"
    "1: mov occbench_attach_dlsym(%rip), %rax\n"
    "  jmp *%rax\n"
    ".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl dlsym\n.type dlsym,%function\n"
    "dlsym:\n"
    "  stp x29, x30, [sp, #-32]!\n"
    "  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n"
    "  bl occbench_attach_find\n"
    "  mov x16, x0\n"
    "  ldp x0, x1, [sp, #16]\n"
    "  ldp x29, x30, [sp], #32\n"
    "  cbz x16, 1f\n"
    "  mov x0, x16\n"
    "  ret\n"
    "1: adrp x16, occbench_attach_dlsym\n"
    "  ldr x16, [x16, #:lo12:occbench_attach_dlsym]\n"
    "  br x16\n"
    ".size dlsym, .-dlsym\n");
#else
#error "no dlsym for this architecture"
#endif

// For programs linked to libcuda.so.1. The names are passed to the assembler because cuda.h defines them as
// macros.
#define OCCBENCH_LINKED(type, symbol, parameters, arguments)              \
  OCCBENCH_EXPORT CUresult occbench_##symbol parameters __asm__(#symbol); \
  CUresult occbench_##symbol parameters {                                 \
    static const auto ours = find_linked<type>(#symbol);                  \
    return ours == nullptr ? CUDA_ERROR_NOT_INITIALIZED : ours arguments; \
  }
#define OCCBENCH_SHAPE                                                                                       \
  CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned smem, \
      CUstream stream
OCCBENCH_LINKED(LaunchKernel, cuLaunchKernel, (OCCBENCH_SHAPE, void** p, void** e),
                (f, gx, gy, gz, bx, by, bz, smem, stream, p, e))
OCCBENCH_LINKED(LaunchKernel, cuLaunchKernel_ptsz, (OCCBENCH_SHAPE, void** p, void** e),
                (f, gx, gy, gz, bx, by, bz, smem, stream, p, e))
OCCBENCH_LINKED(LaunchCooperative, cuLaunchCooperativeKernel, (OCCBENCH_SHAPE, void** p),
                (f, gx, gy, gz, bx, by, bz, smem, stream, p))
OCCBENCH_LINKED(LaunchCooperative, cuLaunchCooperativeKernel_ptsz, (OCCBENCH_SHAPE, void** p),
                (f, gx, gy, gz, bx, by, bz, smem, stream, p))
OCCBENCH_LINKED(LaunchEx, cuLaunchKernelEx, (const CUlaunchConfig* c, CUfunction f, void** p, void** e),
                (c, f, p, e))
OCCBENCH_LINKED(LaunchEx, cuLaunchKernelEx_ptsz, (const CUlaunchConfig* c, CUfunction f, void** p, void** e),
                (c, f, p, e))
OCCBENCH_LINKED(GraphLaunch, cuGraphLaunch, (CUgraphExec g, CUstream s), (g, s))
OCCBENCH_LINKED(GraphLaunch, cuGraphLaunch_ptsz, (CUgraphExec g, CUstream s), (g, s))
#undef cuGraphInstantiate
#define OCCBENCH_INSTANTIATE(symbol)                                                                   \
  OCCBENCH_LINKED(Instantiate, symbol, (CUgraphExec * made, CUgraph graph, void* a, void* b, void* c), \
                  (made, graph, a, b, c))
OCCBENCH_INSTANTIATE(cuGraphInstantiate)
OCCBENCH_INSTANTIATE(cuGraphInstantiate_v2)
OCCBENCH_INSTANTIATE(cuGraphInstantiateWithFlags)
OCCBENCH_INSTANTIATE(cuGraphInstantiateWithParams)
OCCBENCH_INSTANTIATE(cuGraphInstantiateWithParams_ptsz)
OCCBENCH_LINKED(ModuleLoad, cuModuleLoadData, (void* m, const void* i, void* a, void* b, void* c),
                (m, i, a, b, c))
OCCBENCH_LINKED(ModuleLoad, cuModuleLoadDataEx, (void* m, const void* i, void* a, void* b, void* c),
                (m, i, a, b, c))
OCCBENCH_LINKED(ModuleLoad, cuModuleLoadFatBinary, (void* m, const void* i, void* a, void* b, void* c),
                (m, i, a, b, c))
OCCBENCH_LINKED(ModuleLoad, cuModuleLoad, (void* m, const void* p, void* a, void* b, void* c),
                (m, p, a, b, c))
OCCBENCH_LINKED(LibraryLoad, cuLibraryLoadFromFile,
                (CUlibrary * l, const void* p, CUjit_option* a, void** b, unsigned c, CUlibraryOption* d,
                 void** e, unsigned f),
                (l, p, a, b, c, d, e, f))
OCCBENCH_LINKED(LibraryLoad, cuLibraryLoadData,
                (CUlibrary * l, const void* i, CUjit_option* a, void** b, unsigned c, CUlibraryOption* d,
                 void** e, unsigned f),
                (l, i, a, b, c, d, e, f))
OCCBENCH_LINKED(Destroy, cuGraphExecDestroy, (void* which), (which))
OCCBENCH_LINKED(Destroy, cuGraphDestroy, (void* which), (which))
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphExecUpdate
#define OCCBENCH_UPDATE(symbol) \
  OCCBENCH_LINKED(GraphUpdate, symbol, (void* g, void* a, void* b, void* c), (g, a, b, c))
OCCBENCH_UPDATE(cuGraphExecKernelNodeSetParams)
OCCBENCH_UPDATE(cuGraphExecKernelNodeSetParams_v2)
OCCBENCH_UPDATE(cuGraphExecNodeSetParams)
OCCBENCH_UPDATE(cuGraphNodeSetEnabled)
OCCBENCH_UPDATE(cuGraphExecUpdate)
OCCBENCH_UPDATE(cuGraphExecUpdate_v2)
OCCBENCH_UPDATE(cuGraphExecChildGraphNodeSetParams)
OCCBENCH_LINKED(GetProcAddress, cuGetProcAddress, (const char* n, void** f, int v, cuuint64_t flags),
                (n, f, v, flags))
OCCBENCH_LINKED(GetProcAddressV2, cuGetProcAddress_v2,
                (const char* n, void** f, int v, cuuint64_t flags, CUdriverProcAddressQueryResult* s),
                (n, f, v, flags, s))
OCCBENCH_LINKED(Destroy, cuCtxDestroy_v2, (void* which), (which))
OCCBENCH_LINKED(Destroy, cuGreenCtxDestroy, (void* which), (which))
OCCBENCH_LINKED(Destroy, cuDevicePrimaryCtxReset_v2, (void* which), (which))
OCCBENCH_LINKED(Destroy, cuDevicePrimaryCtxRelease_v2, (void* which), (which))
OCCBENCH_LINKED(Destroy, cuModuleUnload, (void* which), (which))
OCCBENCH_LINKED(Destroy, cuLibraryUnload, (void* which), (which))
OCCBENCH_LINKED(Profiler, cuProfilerStart, (), ())
OCCBENCH_LINKED(Profiler, cuProfilerStop, (), ())

// Exits without handlers, as in Python's child processes. A signal handler may call them.
#define OCCBENCH_EXIT_HOOK(symbol)                                              \
  extern "C" __attribute__((visibility("default"), noreturn)) void symbol(int); \
  void symbol(int status) {                                                     \
    drain_at_exit();                                                            \
    if (original_##symbol != nullptr) original_##symbol(status);                \
    for (;;) syscall(SYS_exit_group, status);                                   \
  }
OCCBENCH_EXIT_HOOK(_exit)
OCCBENCH_EXIT_HOOK(_Exit)
