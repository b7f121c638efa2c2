// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of the fake driver: those that were captured, whose kernels run, and any other address.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "tests/fake_driver/fake_device.hpp"

using namespace fake;

namespace {

struct Graph {
  std::vector<KernelLaunch*> nodes;
};
struct ExecutableGraph {
  std::vector<std::pair<KernelLaunch*, KernelLaunch>> nodes;  ///< as they were captured, and are now
};
std::set<void*> graphs, executable_graphs;
thread_local Graph* captured = nullptr;
thread_local CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
char within_storage;  ///< the address of the graph within any other

bool is_captured_node(CUgraphNode node) {
  for (void* graph : graphs)
    for (KernelLaunch* own : static_cast<Graph*>(graph)->nodes)
      if (own == reinterpret_cast<KernelLaunch*>(node)) return true;
  return false;
}

}  // namespace

bool fake::is_capturing() { return capturing != CU_STREAM_CAPTURE_STATUS_NONE; }
void fake::capture(KernelLaunch* node) { captured->nodes.push_back(node); }

#if FAKE_VERSION >= 10000
FAKE(CUresult, cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus* status)) {
  *status = capturing;
  return CUDA_SUCCESS;
}
#endif
FAKE(CUresult, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode)) {
  static thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(now, *mode);
  return CUDA_SUCCESS;
}
/// For the tests: what follows goes into a graph, or does so no longer.
FAKE(CUresult, fakeCapture, (int on)) {
  if (on != 0) graphs.insert(captured = new Graph);
  capturing = on != 0 ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE(CUgraph, fakeCaptured, ()) { return reinterpret_cast<CUgraph>(captured); }
/// Beside those that were captured, each address is a graph of two kernels, a copy, and a graph of one kernel
/// within it.
FAKE(CUresult, cuGraphInstantiateWithFlags, (CUgraphExec * made, CUgraph graph, unsigned long long)) {
  const std::lock_guard lock(mutex);
  *made = reinterpret_cast<CUgraphExec>(graph);
  if (!graphs.contains(graph)) return CUDA_SUCCESS;
  auto* const executable = new ExecutableGraph;
  for (KernelLaunch* node : reinterpret_cast<Graph*>(graph)->nodes)
    executable->nodes.emplace_back(node, *node);
  executable_graphs.insert(executable);
  *made = reinterpret_cast<CUgraphExec>(executable);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, size_t* count)) {
  static CUgraph_st* const within = reinterpret_cast<CUgraph_st*>(&within_storage);
  static const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
                                          CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_KERNEL};
  const std::lock_guard lock(mutex);
  if (graphs.contains(graph)) {
    const auto& own = reinterpret_cast<Graph*>(graph)->nodes;
    for (std::size_t i = 0; nodes != nullptr && i < own.size(); ++i)
      nodes[i] = reinterpret_cast<CUgraphNode>(own[i]);
    *count = own.size();
    return CUDA_SUCCESS;
  }
  const std::size_t has = graph == within ? 1 : std::size(types);
  for (std::size_t i = 0; nodes != nullptr && i < has; ++i)
    nodes[i] = reinterpret_cast<CUgraphNode>(const_cast<CUgraphNodeType*>(types + i));
  *count = has;
  return CUDA_SUCCESS;
}
/// Captured nodes are a chain, in the order in which they were captured, unless FAKE_BRANCHES is set.
FAKE(CUresult, cuGraphGetEdges, (CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count)) {
  const auto& nodes = reinterpret_cast<Graph*>(graph)->nodes;
  const std::size_t edges = nodes.empty() || std::getenv("FAKE_BRANCHES") ? 0 : nodes.size() - 1;
  for (std::size_t i = 0; from != nullptr && i < edges; ++i) {
    from[i] = reinterpret_cast<CUgraphNode>(nodes[i]);
    to[i] = reinterpret_cast<CUgraphNode>(nodes[i + 1]);
  }
  *count = edges;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType* type)) {
  *type = *reinterpret_cast<CUgraphNodeType*>(node);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphChildGraphNodeGetGraph, (CUgraphNode, CUgraph* graph)) {
  *graph = reinterpret_cast<CUgraph>(&within_storage);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphDestroy, (CUgraph graph)) {
  const std::lock_guard lock(mutex);
  if (graphs.erase(graph) == 0) return CUDA_ERROR_INVALID_VALUE;
  for (KernelLaunch* node : reinterpret_cast<Graph*>(graph)->nodes) node->is_alive = false;
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphExecDestroy, (CUgraphExec graph)) {
  const std::lock_guard lock(mutex);
  if (executable_graphs.erase(graph) != 0) delete reinterpret_cast<ExecutableGraph*>(graph);
  return CUDA_SUCCESS;
}
#if FAKE_VERSION >= 12000
FAKE(CUresult, cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params)) {
  const std::lock_guard lock(mutex);
  if (!is_captured_node(node)) return CUDA_ERROR_INVALID_VALUE;
  *params = reinterpret_cast<KernelLaunch*>(node)->params;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphKernelNodeGetAttribute,
     (CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue* value)) {
  *value = {};
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphExecKernelNodeSetParams_v2,
     (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params)) {
  const std::lock_guard lock(mutex);
  if (!reinterpret_cast<KernelLaunch*>(node)->is_alive) {
    std::fprintf(stderr, "a node is used that ended with its graph\n");
    std::abort();
  }
  if (!executable_graphs.contains(graph) || std::getenv("FAKE_REFUSES")) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [own, launch] : reinterpret_cast<ExecutableGraph*>(graph)->nodes) {
    if (reinterpret_cast<CUgraphNode>(own) != node) continue;
    launch.params = *params;
    launch.copy_values();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
FAKE(CUresult, cuGraphExecUpdate_v2, (CUgraphExec graph, CUgraph from, void*)) {
  const std::lock_guard lock(mutex);
  auto& nodes = reinterpret_cast<ExecutableGraph*>(graph)->nodes;
  const auto& sources = reinterpret_cast<Graph*>(from)->nodes;
  if (nodes.size() != sources.size()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].second.params = sources[i]->params;
    nodes[i].second.copy_values();
  }
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphExecNodeSetParams, (CUgraphExec graph, CUgraphNode node, CUgraphNodeParams* params)) {
  CUDA_KERNEL_NODE_PARAMS now;  // of which those are the later form
  std::memcpy(&now, &params->kernel, sizeof now);
  return fake_cuGraphExecKernelNodeSetParams_v2(graph, node, &now);
}
FAKE(CUresult, cuGraphNodeSetEnabled, (CUgraphExec, CUgraphNode, unsigned)) { return CUDA_SUCCESS; }
#endif
FAKE(CUresult, cuGraphLaunch, (CUgraphExec graph, CUstream)) {
  trace();
  const std::lock_guard lock(mutex);
  if (!executable_graphs.contains(graph)) {
    clock_us += 500;
    return CUDA_SUCCESS;
  }
  clock_us += 5;
  bool is_changed = false;
  for (const auto& [own, launch] : reinterpret_cast<ExecutableGraph*>(graph)->nodes) {
    const CUDA_KERNEL_NODE_PARAMS& p = launch.params;
    const int blocks =
        blocks_of(*function_of(p.func)->function, static_cast<int>(p.blockDimX), p.sharedMemBytes);
    constexpr double most_of_it = 0.9;  // of the L1's array, which the driver then gives to the blocks
    run(launch, (static_cast<double>(p.sharedMemBytes) + reserved) * blocks > most_of_it * smem_per_sm);
    is_changed = is_changed || p.sharedMemBytes != own->params.sharedMemBytes;
  }
  ++launches;
  changed += is_changed ? 1 : 0;
  return CUDA_SUCCESS;
}
/// Graphs that are there, with those that only the library keeps.
FAKE(std::uint64_t, fakeGraphs, ()) { return graphs.size(); }
