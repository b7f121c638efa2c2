// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace occbench::attach {

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
  dlclose(library);  // the program keeps its own references
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
  // Stays loaded until the process ends: the last times need its functions.
  static_cast<void>(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  return {};
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
