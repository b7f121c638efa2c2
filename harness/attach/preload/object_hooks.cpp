// SPDX-License-Identifier: Apache-2.0
// Hooks of functions that create, change and destroy graphs, modules and contexts, and of the profiler's.
#include <cstdint>
#include <cstring>

#include "harness/attach/preload/attached.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/hook_slots.hpp"
#include "harness/attach/preload/hooks.hpp"

namespace occbench::attach {
namespace {

template <Name name, int slot>
CUresult instantiate(CUgraphExec* made, CUgraph graph, void* a, void* b, void* c) {
  const CUresult result = original_of<Instantiate>(name, slot)(made, graph, a, b, c);
  Launches* const launches = get_launches();
  if (result == CUDA_SUCCESS && made != nullptr && launches != nullptr) launches->add_graph(*made, graph);
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
  Launches* const launches = get_launches();
  if (result == CUDA_SUCCESS && launches != nullptr) launches->add_module(image);
  return result;
}

template <int slot>
CUresult on_module_file(void* module, const void* path, void* a, void* b, void* c) {
  const CUresult result = original_of<ModuleLoad>(module_file, slot)(module, path, a, b, c);
  Launches* const launches = get_launches();
  if (result == CUDA_SUCCESS && launches != nullptr)
    launches->add_module_file(static_cast<const char*>(path));
  return result;
}

template <int slot>
CUresult on_library_file(CUlibrary* library, const void* path, CUjit_option* a, void** b, unsigned c,
                         CUlibraryOption* d, void** e, unsigned f) {
  const CUresult result = original_of<LibraryLoad>(library_file, slot)(library, path, a, b, c, d, e, f);
  Launches* const launches = get_launches();
  if (result == CUDA_SUCCESS && launches != nullptr)
    launches->add_module_file(static_cast<const char*>(path));
  return result;
}

template <int slot>
CUresult on_library_load(CUlibrary* library, const void* image, CUjit_option* a, void** b, unsigned c,
                         CUlibraryOption* d, void** e, unsigned f) {
  const CUresult result = original_of<LibraryLoad>(library_load, slot)(library, image, a, b, c, d, e, f);
  Launches* const launches = get_launches();
  if (result == CUDA_SUCCESS && launches != nullptr) launches->add_module(image);
  return result;
}

template <int slot>
CUresult on_graph_ends(void* graph) {
  if (Launches* const launches = find_launches()) launches->remove_graph(static_cast<CUgraphExec>(graph));
  return original_of<Destroy>(graph_exec_destroy, slot)(graph);
}

template <int slot>
CUresult on_graph_destroy(void* graph) {
  Launches* const launches = find_launches();
  if (launches != nullptr && launches->defer_graph_destroy(static_cast<CUgraph>(graph))) return CUDA_SUCCESS;
  return original_of<Destroy>(graph_destroy, slot)(graph);
}

/// The library's own updates bypass this. `take_over` gets an update that the driver accepted.
template <class TakeOver>
CUresult update(CUresult result, void* executable, const TakeOver& take_over) {
  Launches* const launches = find_launches();
  if (launches != nullptr && result == CUDA_SUCCESS)
    take_over(*launches);
  else if (launches != nullptr)
    launches->mark_graph_updated(static_cast<CUgraphExec>(executable));
  return result;
}
/// CUDA 12's parameters begin with those of CUDA 11.
template <int slot>
CUresult on_graph_set_kernel(void* graph, void* node, void* params, void* unused) {
  return update(original_of<GraphUpdate>(graph_set_kernel, slot)(graph, node, params, unused), graph,
                [&](Launches& launches) {
                  launches.update_graph_node(static_cast<CUgraphExec>(graph), static_cast<CUgraphNode>(node),
                                             *static_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(params));
                });
}
/// The library sets only kernel nodes.
template <int slot>
CUresult on_graph_set_node(void* graph, void* node, void* params, void* unused) {
  return update(original_of<GraphUpdate>(graph_set_node, slot)(graph, node, params, unused), graph,
                [&](Launches& launches) {
                  const auto& p = *static_cast<const CUgraphNodeParams*>(params);
                  if (p.type != CU_GRAPH_NODE_TYPE_KERNEL) return;
                  CUDA_KERNEL_NODE_PARAMS_v1 kernel;  // the first fields of CUDA 12's
                  std::memcpy(&kernel, &p.kernel, sizeof kernel);
                  launches.update_graph_node(static_cast<CUgraphExec>(graph), static_cast<CUgraphNode>(node),
                                             kernel);
                });
}
template <int slot>
CUresult on_graph_enable(void* graph, void* node, void* enabled, void* unused) {
  if (Launches* const launches = find_launches())
    launches->mark_graph_updated(static_cast<CUgraphExec>(graph));
  return original_of<GraphUpdate>(graph_enable, slot)(graph, node, enabled, unused);
}
template <int slot>
CUresult on_graph_update(void* graph, void* from, void* a, void* b) {
  return update(original_of<GraphUpdate>(graph_update, slot)(graph, from, a, b), graph,
                [&](Launches& launches) {
                  launches.update_graph_from(static_cast<CUgraphExec>(graph), static_cast<CUgraph>(from));
                });
}

template <int slot>
CUresult on_context_ends(void* context) {
  if (Launches* const launches = find_launches()) launches->forget_context(static_cast<CUcontext>(context));
  return original_of<Destroy>(context_destroy, slot)(context);
}

/// A green context is identified by the context that it was made current as.
template <int slot>
CUresult on_green_context_ends(void* which) {
  using From = CUresult (*)(CUcontext*, void*);
  static const auto from = reinterpret_cast<From>(libcuda_symbol("cuCtxFromGreenCtx"));
  CUcontext context = nullptr;
  Launches* const launches = find_launches();
  if (launches != nullptr && from != nullptr && from(&context, which) == CUDA_SUCCESS)
    launches->forget_context(context);
  return original_of<Destroy>(green_context_destroy, slot)(which);
}

/// A CUdevice is passed and returned in the same register as a pointer.
CUdevice device_of(void* which) { return static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(which)); }

template <int slot>
CUresult on_device_ends(void* which) {
  if (Launches* const launches = find_launches()) launches->forget_device(device_of(which));
  return original_of<Destroy>(device_reset, slot)(which);
}

template <int slot>
CUresult on_device_release(void* which) {
  Launches* const launches = find_launches();
  if (launches != nullptr) launches->release_device(device_of(which));
  const CUresult result = original_of<Destroy>(device_release, slot)(which);
  if (launches != nullptr && result == CUDA_SUCCESS) launches->check_device(device_of(which));
  return result;
}

template <int slot>
CUresult on_module_ends(void* which) {
  if (Launches* const launches = find_launches()) launches->forget_modules();
  return original_of<Destroy>(module_unload, slot)(which);
}

template <Name name, int slot>
CUresult on_profiler() {
  if (Launches* const launches = get_launches()) launches->set_profiled(name == profiler_start);
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

const Hook hooks[] = {
    {"cuGraphInstantiate", graph_instantiate, false, OCCBENCH_SLOTS(on_graph_instantiate)},
    {"cuGraphInstantiate_v2", graph_instantiate, false, OCCBENCH_SLOTS(on_graph_instantiate)},
    {"cuGraphInstantiateWithFlags", graph_instantiate, false, OCCBENCH_SLOTS(on_graph_instantiate)},
    {"cuGraphInstantiateWithParams", graph_instantiate_with, false,
     OCCBENCH_SLOTS(on_graph_instantiate_with)},
    {"cuGraphInstantiateWithParams_ptsz", graph_instantiate_with, true,
     OCCBENCH_SLOTS(on_graph_instantiate_with)},
    {"cuGraphExecDestroy", graph_exec_destroy, false, OCCBENCH_SLOTS(on_graph_ends)},
    {"cuGraphDestroy", graph_destroy, false, OCCBENCH_SLOTS(on_graph_destroy)},
    {"cuGraphExecKernelNodeSetParams", graph_set_kernel, false, OCCBENCH_SLOTS(on_graph_set_kernel)},
    {"cuGraphExecKernelNodeSetParams_v2", graph_set_kernel, false, OCCBENCH_SLOTS(on_graph_set_kernel)},
    {"cuGraphExecNodeSetParams", graph_set_node, false, OCCBENCH_SLOTS(on_graph_set_node)},
    {"cuGraphNodeSetEnabled", graph_enable, false, OCCBENCH_SLOTS(on_graph_enable)},
    {"cuGraphExecUpdate", graph_update, false, OCCBENCH_SLOTS(on_graph_update)},
    {"cuGraphExecUpdate_v2", graph_update, false, OCCBENCH_SLOTS(on_graph_update)},
    {"cuModuleLoadData", module_load, false, OCCBENCH_SLOTS(on_module_load)},
    {"cuModuleLoadDataEx", module_load, false, OCCBENCH_SLOTS(on_module_load)},
    {"cuModuleLoadFatBinary", module_load, false, OCCBENCH_SLOTS(on_module_load)},
    {"cuModuleLoad", module_file, false, OCCBENCH_SLOTS(on_module_file)},
    {"cuLibraryLoadData", library_load, false, OCCBENCH_SLOTS(on_library_load)},
    {"cuLibraryLoadFromFile", library_file, false, OCCBENCH_SLOTS(on_library_file)},
    {"cuCtxDestroy", context_destroy, false, OCCBENCH_SLOTS(on_context_ends)},
    {"cuCtxDestroy_v2", context_destroy, false, OCCBENCH_SLOTS(on_context_ends)},
    {"cuGreenCtxDestroy", green_context_destroy, false, OCCBENCH_SLOTS(on_green_context_ends)},
    {"cuDevicePrimaryCtxReset", device_reset, false, OCCBENCH_SLOTS(on_device_ends)},
    {"cuDevicePrimaryCtxReset_v2", device_reset, false, OCCBENCH_SLOTS(on_device_ends)},
    {"cuDevicePrimaryCtxRelease", device_release, false, OCCBENCH_SLOTS(on_device_release)},
    {"cuDevicePrimaryCtxRelease_v2", device_release, false, OCCBENCH_SLOTS(on_device_release)},
    {"cuModuleUnload", module_unload, false, OCCBENCH_SLOTS(on_module_ends)},
    {"cuLibraryUnload", module_unload, false, OCCBENCH_SLOTS(on_module_ends)},
    {"cuProfilerStart", profiler_start, false, OCCBENCH_SLOTS(on_profiler_start)},
    {"cuProfilerStop", profiler_stop, false, OCCBENCH_SLOTS(on_profiler_stop)},
};

}  // namespace

std::span<const Hook> object_hooks() noexcept { return hooks; }

}  // namespace occbench::attach
