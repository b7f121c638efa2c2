// SPDX-License-Identifier: Apache-2.0
// What stands in for the driver's functions. A name may mean several (versions, default streams): each has a
// slot of its own, and a function of ours that calls it and no other.
#include "harness/attach/preload/hooks.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "harness/attach/preload/children.hpp"
#include "harness/attach/preload/launches.hpp"
#include "harness/attach/preload/ranges.hpp"
#include "harness/attach/preload/signal_handler.hpp"

namespace occbench::attach {
namespace {

std::atomic<Launches*> state{nullptr};
std::atomic<bool> is_inert{false};
std::atomic<bool> is_forked{false};  ///< from a process that was attached to, whose driver it cannot use
pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER, taking = PTHREAD_MUTEX_INITIALIZER;

/// Whether a hooked function is on this thread's way already: what the driver calls of itself is no launch of
/// the program's.
__attribute__((tls_model("initial-exec"))) thread_local bool is_within = false;
class Within {
 public:
  Within() { is_within = true; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() { is_within = false; }
};

/// Of a process that ends. Null where that may be a signal's handler: what it interrupted may hold locks of
/// the driver, of malloc or of this library. Times that nobody has read yet are given up then.
Launches* to_end(Ending how) noexcept {
  Launches* const launches = state.load();
  return launches == nullptr || is_within || !launches->process().is_caller() || may_be_in_handler(how)
             ? nullptr
             : launches;
}

__attribute__((destructor)) void note_if_unseen() {
  if (state.load() == nullptr && !is_inert.load() && !is_forked.load()) note_unseen_driver();
}

void at_exit() {
  if (Launches* const launches = to_end(Ending::exit)) launches->end();
}

/// A fork's child begins anew: what stands in the parent's files is the parent's.
void in_child() {
  pthread_mutex_init(&making, nullptr);
  pthread_mutex_init(&taking, nullptr);
  forget_range_locks();
  if (state.exchange(nullptr) != nullptr) is_forked.store(true);
}

/// Before any thread can be on its way to the first launch while another forks.
__attribute__((constructor)) void prepare_for_forks() { pthread_atfork(nullptr, nullptr, in_child); }

Launches* attached() noexcept {
  Launches* launches = state.load(std::memory_order_acquire);
  if (launches != nullptr || is_inert.load(std::memory_order_relaxed)) return launches;
  pthread_mutex_lock(&making);
  launches = state.load();
  if (launches == nullptr && !is_inert.load()) try {
      if (auto options = options_from_environment()) {
        launches = new Launches(std::move(*options));
        static std::atomic<bool> is_first{true};
        if (is_first.exchange(false)) std::atexit(at_exit);
        state.store(launches, std::memory_order_release);
      } else {
        is_inert.store(true);
      }
    } catch (...) {
      is_inert.store(true);
    }
  pthread_mutex_unlock(&making);
  return launches;
}

template <class Call>
CUresult pass(const Request& request, const Call& original) noexcept {
  Launches* const launches = is_within ? nullptr : attached();
  if (launches == nullptr) return original();
  const Within within;
  Ticket ticket = launches->before(request);
  if (ticket.change.graph != nullptr) {
    CUresult result = launches->set_graph(ticket);
    const bool is_set = result == CUDA_SUCCESS;
    if (is_set) result = original();
    if (is_set) launches->set_graph_back(request, ticket);
    if (result == CUDA_SUCCESS || ticket.draw.arm == untouched) {
      if (!is_set) result = original();
      launches->after(ticket, result);
      return result;
    }
    launches->refuse(ticket, result);
  }
  if (ticket.draw.arm != untouched) {
    const CUresult result = launches->launch_changed(request, ticket);
    if (result == CUDA_SUCCESS) {
      launches->after(ticket, result);
      return result;
    }
    launches->refuse(ticket, result);
  }
  const CUresult result = original();
  launches->after(ticket, result);
  return result;
}

enum Name : int {
  launch_kernel,
  launch_ex,
  launch_cooperative,
  graph_launch,
  graph_instantiate,
  graph_instantiate_with,
  graph_ends,
  graph_destroy,
  graph_set,
  graph_update,
  module_load,
  module_file,
  library_load,
  library_file,
  get_proc_address,
  get_proc_address_v2,
  context_ends,
  green_context_ends,
  device_ends,
  device_release,
  module_ends,
  profiler_start,
  profiler_stop,
  names
};
constexpr int slots = 4;

struct Slot {
  std::atomic<void*> original{nullptr};
  bool is_per_thread = false;
};
Slot table[names][slots];

template <class Function>
Function original_of(Name name, int slot) {
  return reinterpret_cast<Function>(table[name][slot].original.load(std::memory_order_acquire));
}

template <int slot>
CUresult on_launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned smem, CUstream stream, void** parameters, void** extra) {
  const auto original = original_of<LaunchKernel>(launch_kernel, slot);
  const Request request{.function = f,
                        .config = {gx, gy, gz, bx, by, bz, smem, stream, nullptr, 0},
                        .parameters = parameters,
                        .extra = extra,
                        .is_per_thread = table[launch_kernel][slot].is_per_thread};
  return pass(request, [&] { return original(f, gx, gy, gz, bx, by, bz, smem, stream, parameters, extra); });
}

template <int slot>
CUresult on_launch_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  const auto original = original_of<LaunchEx>(launch_ex, slot);
  if (config == nullptr) return original(config, f, parameters, extra);
  const Request request{.function = f,
                        .config = *config,
                        .parameters = parameters,
                        .extra = extra,
                        .is_per_thread = table[launch_ex][slot].is_per_thread};
  return pass(request, [&] { return original(config, f, parameters, extra); });
}

template <int slot>
CUresult on_launch_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned smem, CUstream stream, void** parameters) {
  const auto original = original_of<LaunchCooperative>(launch_cooperative, slot);
  const Request request{.function = f,
                        .config = {gx, gy, gz, bx, by, bz, smem, stream, nullptr, 0},
                        .parameters = parameters,
                        .is_per_thread = table[launch_cooperative][slot].is_per_thread,
                        .kind = SkipReason::cooperative};
  return pass(request, [&] { return original(f, gx, gy, gz, bx, by, bz, smem, stream, parameters); });
}

template <int slot>
CUresult on_graph_launch(CUgraphExec graph, CUstream stream) {
  const auto original = original_of<GraphLaunch>(graph_launch, slot);
  Request request{
      .is_per_thread = table[graph_launch][slot].is_per_thread, .graph = graph, .kind = SkipReason::graph};
  request.config.hStream = stream;
  return pass(request, [&] { return original(graph, stream); });
}

template <Name name, int slot>
CUresult instantiate(CUgraphExec* made, CUgraph graph, void* a, void* b, void* c) {
  const CUresult result = original_of<Instantiate>(name, slot)(made, graph, a, b, c);
  Launches* const launches = attached();
  if (result == CUDA_SUCCESS && made != nullptr && launches != nullptr) launches->graph_made(*made, graph);
  return result;
}
template <int slot>
CUresult on_graph_instantiate(CUgraphExec* made, CUgraph graph, void* a, void* b, void* c) {
  return instantiate<graph_instantiate, slot>(made, graph, a, b, c);
}
template <int slot>
CUresult on_graph_instantiate_with(CUgraphExec* made, CUgraph graph, void* a, void* b, void* c) {
  return instantiate<graph_instantiate_with, slot>(made, graph, a, b, c);
}

template <int slot>
CUresult on_module_load(void* module, const void* image, void* a, void* b, void* c) {
  const CUresult result = original_of<ModuleLoad>(module_load, slot)(module, image, a, b, c);
  Launches* const launches = attached();
  if (result == CUDA_SUCCESS && launches != nullptr) launches->loaded(image);
  return result;
}

template <int slot>
CUresult on_module_file(void* module, const void* path, void* a, void* b, void* c) {
  const CUresult result = original_of<ModuleLoad>(module_file, slot)(module, path, a, b, c);
  Launches* const launches = attached();
  if (result == CUDA_SUCCESS && launches != nullptr) launches->loaded_file(static_cast<const char*>(path));
  return result;
}

template <int slot>
CUresult on_library_file(CUlibrary* library, const void* path, CUjit_option* a, void** b, unsigned c,
                         CUlibraryOption* d, void** e, unsigned f) {
  const CUresult result = original_of<LibraryLoad>(library_file, slot)(library, path, a, b, c, d, e, f);
  Launches* const launches = attached();
  if (result == CUDA_SUCCESS && launches != nullptr) launches->loaded_file(static_cast<const char*>(path));
  return result;
}

template <int slot>
CUresult on_library_load(CUlibrary* library, const void* image, CUjit_option* a, void** b, unsigned c,
                         CUlibraryOption* d, void** e, unsigned f) {
  const CUresult result = original_of<LibraryLoad>(library_load, slot)(library, image, a, b, c, d, e, f);
  Launches* const launches = attached();
  if (result == CUDA_SUCCESS && launches != nullptr) launches->loaded(image);
  return result;
}

template <int slot>
CUresult on_graph_ends(void* graph) {
  if (Launches* const launches = state.load()) launches->graph_ends(static_cast<CUgraphExec>(graph));
  return original_of<Ends>(graph_ends, slot)(graph);
}

template <int slot>
CUresult on_graph_destroy(void* graph) {
  Launches* const launches = state.load();
  if (launches != nullptr && launches->keeps_graph(static_cast<CUgraph>(graph))) return CUDA_SUCCESS;
  return original_of<Ends>(graph_destroy, slot)(graph);
}

/// The library's own updates do not come this way.
template <Name name, int slot>
CUresult update(void* graph, void* a, void* b, void* c) {
  if (Launches* const launches = state.load()) launches->graph_updated(static_cast<CUgraphExec>(graph));
  return original_of<GraphUpdate>(name, slot)(graph, a, b, c);
}
template <int slot>
CUresult on_graph_set(void* graph, void* a, void* b, void* c) {
  return update<graph_set, slot>(graph, a, b, c);
}
template <int slot>
CUresult on_graph_update(void* graph, void* a, void* b, void* c) {
  return update<graph_update, slot>(graph, a, b, c);
}

template <int slot>
CUresult on_context_ends(void* context) {
  if (Launches* const launches = state.load()) launches->context_ends(static_cast<CUcontext>(context));
  return original_of<Ends>(context_ends, slot)(context);
}

/// A green context is known by the context that it was made current as.
template <int slot>
CUresult on_green_context_ends(void* which) {
  using From = CUresult (*)(CUcontext*, void*);
  static const auto from = reinterpret_cast<From>(libcuda_symbol("cuCtxFromGreenCtx"));
  CUcontext context = nullptr;
  Launches* const launches = state.load();
  if (launches != nullptr && from != nullptr && from(&context, which) == CUDA_SUCCESS)
    launches->context_ends(context);
  return original_of<Ends>(green_context_ends, slot)(which);
}

/// A CUdevice comes and goes in the same register as an address.
CUdevice device_of(void* which) { return static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(which)); }

template <int slot>
CUresult on_device_ends(void* which) {
  if (Launches* const launches = state.load()) launches->device_ends(device_of(which));
  return original_of<Ends>(device_ends, slot)(which);
}

template <int slot>
CUresult on_device_release(void* which) {
  Launches* const launches = state.load();
  if (launches != nullptr) launches->drain();
  const CUresult result = original_of<Ends>(device_release, slot)(which);
  if (launches != nullptr && result == CUDA_SUCCESS) launches->device_released(device_of(which));
  return result;
}

template <int slot>
CUresult on_module_ends(void* which) {
  if (Launches* const launches = state.load()) launches->module_ends();
  return original_of<Ends>(module_ends, slot)(which);
}

template <int slot>
CUresult on_get_proc_address(const char* name, void** found, int version, cuuint64_t flags) {
  const CUresult result = original_of<GetProcAddress>(get_proc_address, slot)(name, found, version, flags);
  if (result == CUDA_SUCCESS && name != nullptr && found != nullptr && *found != nullptr)
    *found = ours_for(name, *found, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  return result;
}

template <int slot>
CUresult on_get_proc_address_v2(const char* name, void** found, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult* status) {
  const CUresult result =
      original_of<GetProcAddressV2>(get_proc_address_v2, slot)(name, found, version, flags, status);
  if (result == CUDA_SUCCESS && name != nullptr && found != nullptr && *found != nullptr) {
    // By this name a caller of version 12 or newer is given the newer function.
    constexpr int has_five_arguments = 12'000;
    if (std::strcmp(name, "cuGetProcAddress") == 0 && version >= has_five_arguments)
      name = "cuGetProcAddress_v2";
    *found = ours_for(name, *found, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  }
  return result;
}

template <Name name, int slot>
CUresult on_profiler() {
  if (Launches* const launches = attached()) launches->profiles(name == profiler_start);
  return original_of<Profiler>(name, slot)();
}
template <int slot>
CUresult on_profiler_start() {
  return on_profiler<profiler_start, slot>();
}
template <int slot>
CUresult on_profiler_stop() {
  return on_profiler<profiler_stop, slot>();
}

#define OCCBENCH_SLOTS(function)                                                     \
  {                                                                                  \
    reinterpret_cast<void*>(&function<0>), reinterpret_cast<void*>(&function<1>),    \
        reinterpret_cast<void*>(&function<2>), reinterpret_cast<void*>(&function<3>) \
  }
void* const ours[names][slots] = {
    OCCBENCH_SLOTS(on_launch_kernel),      OCCBENCH_SLOTS(on_launch_ex),
    OCCBENCH_SLOTS(on_launch_cooperative), OCCBENCH_SLOTS(on_graph_launch),
    OCCBENCH_SLOTS(on_graph_instantiate),  OCCBENCH_SLOTS(on_graph_instantiate_with),
    OCCBENCH_SLOTS(on_graph_ends),         OCCBENCH_SLOTS(on_graph_destroy),
    OCCBENCH_SLOTS(on_graph_set),          OCCBENCH_SLOTS(on_graph_update),
    OCCBENCH_SLOTS(on_module_load),        OCCBENCH_SLOTS(on_module_file),
    OCCBENCH_SLOTS(on_library_load),       OCCBENCH_SLOTS(on_library_file),
    OCCBENCH_SLOTS(on_get_proc_address),   OCCBENCH_SLOTS(on_get_proc_address_v2),
    OCCBENCH_SLOTS(on_context_ends),       OCCBENCH_SLOTS(on_green_context_ends),
    OCCBENCH_SLOTS(on_device_ends),        OCCBENCH_SLOTS(on_device_release),
    OCCBENCH_SLOTS(on_module_ends),        OCCBENCH_SLOTS(on_profiler_start),
    OCCBENCH_SLOTS(on_profiler_stop)};

struct Hooked {
  const char* name;
  Name kind;
  bool is_per_thread;
};
constexpr Hooked hooked[] = {
    {"cuLaunchKernel", launch_kernel, false},
    {"cuLaunchKernel_ptsz", launch_kernel, true},
    {"cuLaunchKernelEx", launch_ex, false},
    {"cuLaunchKernelEx_ptsz", launch_ex, true},
    {"cuLaunchCooperativeKernel", launch_cooperative, false},
    {"cuLaunchCooperativeKernel_ptsz", launch_cooperative, true},
    {"cuGraphLaunch", graph_launch, false},
    {"cuGraphLaunch_ptsz", graph_launch, true},
    {"cuGraphInstantiate", graph_instantiate, false},
    {"cuGraphInstantiate_v2", graph_instantiate, false},
    {"cuGraphInstantiateWithFlags", graph_instantiate, false},
    {"cuGraphInstantiateWithParams", graph_instantiate_with, false},
    {"cuGraphInstantiateWithParams_ptsz", graph_instantiate_with, true},
    {"cuGraphExecDestroy", graph_ends, false},
    {"cuGraphDestroy", graph_destroy, false},
    {"cuGraphExecKernelNodeSetParams", graph_set, false},
    {"cuGraphExecKernelNodeSetParams_v2", graph_set, false},
    {"cuGraphExecNodeSetParams", graph_set, false},
    {"cuGraphNodeSetEnabled", graph_set, false},
    {"cuGraphExecUpdate", graph_update, false},
    {"cuGraphExecUpdate_v2", graph_update, false},
    {"cuGraphExecChildGraphNodeSetParams", graph_update, false},
    {"cuModuleLoadData", module_load, false},
    {"cuModuleLoadDataEx", module_load, false},
    {"cuModuleLoadFatBinary", module_load, false},
    {"cuModuleLoad", module_file, false},
    {"cuLibraryLoadData", library_load, false},
    {"cuLibraryLoadFromFile", library_file, false},
    {"cuGetProcAddress", get_proc_address, false},
    {"cuGetProcAddress_v2", get_proc_address_v2, false},
    {"cuGetProcAddress_v2_ptsz", get_proc_address_v2, false},
    {"cuCtxDestroy", context_ends, false},
    {"cuCtxDestroy_v2", context_ends, false},
    {"cuGreenCtxDestroy", green_context_ends, false},
    {"cuDevicePrimaryCtxReset", device_ends, false},
    {"cuDevicePrimaryCtxReset_v2", device_ends, false},
    {"cuDevicePrimaryCtxRelease", device_release, false},
    {"cuDevicePrimaryCtxRelease_v2", device_release, false},
    {"cuModuleUnload", module_ends, false},
    {"cuLibraryUnload", module_ends, false},
    {"cuProfilerStart", profiler_start, false},
    {"cuProfilerStop", profiler_stop, false},
};

const Hooked* find(const char* name) {
  if (name[0] != 'c' || name[1] != 'u') return nullptr;
  for (const Hooked& h : hooked)
    if (std::strcmp(h.name, name) == 0) return &h;
  return nullptr;
}

}  // namespace

bool is_hooked(const char* name) noexcept { return find(name) != nullptr; }

void drain_at_exit() noexcept {
  if (Launches* const launches = to_end(Ending::at_once)) launches->drain();
  note_if_unseen();
}

void* ours_for(const char* name, void* original, bool is_per_thread) noexcept {
  const Hooked* const h = find(name);
  if (h == nullptr) return original;
  for (int slot = 0; slot < slots; ++slot)
    if (ours[h->kind][slot] == original) return original;
  pthread_mutex_lock(&taking);
  void* result = original;
  for (int slot = 0; slot < slots; ++slot) {
    Slot& s = table[h->kind][slot];
    if (s.original.load() == nullptr) {
      s.is_per_thread = is_per_thread || h->is_per_thread;
      s.original.store(original, std::memory_order_release);
    }
    if (s.original.load() == original) {
      result = ours[h->kind][slot];
      break;
    }
  }
  pthread_mutex_unlock(&taking);
  static_cast<void>(attached());  // a process that asks for these uses the driver, whatever it launches
  return result;
}

}  // namespace occbench::attach
