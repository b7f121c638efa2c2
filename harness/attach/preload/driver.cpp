// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace occbench::attach {

namespace {

template <class Function>
void find(Function& function, const char* name, const char* older = nullptr) {
  void* found = libcuda_symbol(name);
  if (found == nullptr && older != nullptr) found = libcuda_symbol(older);
  function = reinterpret_cast<Function>(found);
}

}  // namespace

Dlsym original_dlsym() {
  static const auto original = [] {
    void* found = nullptr;
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
      if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", version);
    return reinterpret_cast<Dlsym>(found);
  }();
  return original;
}

void* libcuda_symbol(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr || original_dlsym() == nullptr) return nullptr;
  void* const found = original_dlsym()(library, name);
  dlclose(library);  // the program's own references stay
  return found;
}

bool Driver::is_complete() const {
  return ctx_get_current != nullptr && ctx_get_device != nullptr && device_get_attribute != nullptr &&
         device_get_name != nullptr && event_create != nullptr && event_record != nullptr &&
         event_elapsed_time != nullptr && event_query != nullptr && event_destroy != nullptr &&
         func_get_attribute != nullptr && func_set_attribute != nullptr && occupancy != nullptr &&
         stream_is_capturing != nullptr;
}

bool Driver::has_green_contexts() const {
  return primary_state != nullptr && primary_retain != nullptr && primary_release != nullptr &&
         device_resource != nullptr && split_sms != nullptr && describe_resource != nullptr &&
         green_create != nullptr && green_destroy != nullptr && green_stream != nullptr &&
         stream_wait != nullptr && stream_synchronize != nullptr && stream_destroy != nullptr;
}

Driver find_driver() {
  // Stays loaded until the process ends: its functions are called to the end, for the last times.
  static_cast<void>(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  Driver d;
  find(d.ctx_get_current, "cuCtxGetCurrent");
  find(d.ctx_get_device, "cuCtxGetDevice");
  find(d.ctx_synchronize, "cuCtxSynchronize");
  find(d.device_get_attribute, "cuDeviceGetAttribute");
  find(d.device_get_count, "cuDeviceGetCount");
  find(d.device_get_name, "cuDeviceGetName");
  find(d.device_get_uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid");
  find(d.driver_get_version, "cuDriverGetVersion");
  find(d.event_create, "cuEventCreate");
  find(d.event_record, "cuEventRecord");
  find(d.event_elapsed_time, "cuEventElapsedTime_v2", "cuEventElapsedTime");
  find(d.event_query, "cuEventQuery");
  find(d.event_destroy, "cuEventDestroy_v2", "cuEventDestroy");
  find(d.func_get_attribute, "cuFuncGetAttribute");
  find(d.func_set_attribute, "cuFuncSetAttribute");
  find(d.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(d.launch_ex, "cuLaunchKernelEx");
  find(d.launch_ex_ptsz, "cuLaunchKernelEx_ptsz");
  find(d.stream_is_capturing, "cuStreamIsCapturing");
  find(d.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(d.func_get_name, "cuFuncGetName");
  find(d.func_get_param_info, "cuFuncGetParamInfo");
  find(d.kernel_get_function, "cuKernelGetFunction");
  find(d.graph_child, "cuGraphChildGraphNodeGetGraph");
  find(d.graph_destroy, "cuGraphDestroy");
  find(d.graph_edges, "cuGraphGetEdges");  // of CUDA 10; refuses graphs whose edges say more
  find(d.graph_exec_flags, "cuGraphExecGetFlags");
  find(d.graph_exec_set, "cuGraphExecKernelNodeSetParams_v2");
  find(d.graph_node_attribute, "cuGraphKernelNodeGetAttribute");
  find(d.graph_node_get, "cuGraphKernelNodeGetParams_v2");
  find(d.graph_nodes, "cuGraphGetNodes");
  find(d.graph_node_type, "cuGraphNodeGetType");
  find(d.module_load_data, "cuModuleLoadData");
  find(d.module_get_function, "cuModuleGetFunction");
  find(d.ctx_resource, "cuCtxGetDevResource");
  find(d.green_resource, "cuGreenCtxGetDevResource");
  find(d.stream_green, "cuStreamGetGreenCtx");
  find(d.primary_state, "cuDevicePrimaryCtxGetState");
  find(d.primary_retain, "cuDevicePrimaryCtxRetain");
  find(d.primary_release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease");
  find(d.device_resource, "cuDeviceGetDevResource");
  find(d.split_sms, "cuDevSmResourceSplitByCount");
  find(d.describe_resource, "cuDevResourceGenerateDesc");
  find(d.green_create, "cuGreenCtxCreate");
  find(d.green_destroy, "cuGreenCtxDestroy");
  find(d.green_stream, "cuGreenCtxStreamCreate");
  find(d.stream_wait, "cuStreamWaitEvent");
  find(d.stream_synchronize, "cuStreamSynchronize");
  find(d.stream_destroy, "cuStreamDestroy_v2", "cuStreamDestroy");
  find(d.max_clusters, "cuOccupancyMaxActiveClusters");
  return d;
}

std::optional<std::uint64_t> kernels_of(const Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  if (driver.graph_child == nullptr || driver.graph_nodes == nullptr || driver.graph_node_type == nullptr ||
      driver.graph_nodes(graph, nullptr, &count) != CUDA_SUCCESS)
    return std::nullopt;
  std::vector<CUgraphNode> nodes(count);
  if (count > 0 && driver.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return std::nullopt;
  std::uint64_t kernels = 0;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    if (driver.graph_node_type(node, &type) != CUDA_SUCCESS) return std::nullopt;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) ++kernels;
    if (type != CU_GRAPH_NODE_TYPE_GRAPH) continue;
    CUgraph within = nullptr;
    if (driver.graph_child(node, &within) != CUDA_SUCCESS) return std::nullopt;
    const auto more = kernels_of(driver, within);
    if (!more) return std::nullopt;
    kernels += *more;
  }
  return kernels;
}

std::vector<CUgraphNode> chain_of(const Driver& driver, CUgraph graph) {
  std::size_t count = 0, edges = 0;
  if (driver.graph_edges == nullptr || driver.graph_nodes(graph, nullptr, &count) != CUDA_SUCCESS ||
      driver.graph_edges(graph, nullptr, nullptr, &edges) != CUDA_SUCCESS || count != edges + 1)
    return {};
  std::vector<CUgraphNode> nodes(count), from(edges), to(edges);
  if (driver.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS ||
      (edges > 0 && driver.graph_edges(graph, from.data(), to.data(), &edges) != CUDA_SUCCESS))
    return {};
  std::unordered_map<CUgraphNode, CUgraphNode> next;
  for (std::size_t i = 0; i < edges; ++i) next[from[i]] = to[i];
  const std::unordered_set<CUgraphNode> later(to.begin(), to.end());
  const auto first = std::ranges::find_if(nodes, [&](CUgraphNode node) { return !later.contains(node); });
  std::vector<CUgraphNode> chain;
  for (CUgraphNode node = first == nodes.end() ? nullptr : *first; node != nullptr && chain.size() < count;) {
    chain.push_back(node);
    const auto found = next.find(node);
    node = found == next.end() ? nullptr : found->second;
  }
  return chain.size() == count ? chain : std::vector<CUgraphNode>();
}

}  // namespace occbench::attach
