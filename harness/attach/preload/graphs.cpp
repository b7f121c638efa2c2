// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/graphs.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>

namespace occbench::attach {

namespace {

constexpr std::size_t max_nodes = 200'000;  // stored over all graphs
constexpr int blocks_of_draws = 8;          // per kernel before the next one

std::uint64_t threads_of(const GraphPart& part) {
  const CUlaunchConfig& c = part.request.config;
  return part.nodes.size() * c.gridDimX * c.gridDimY * c.gridDimZ * c.blockDimX * c.blockDimY * c.blockDimZ;
}

CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
}

std::uint64_t key_of(const Handle& handle, const CUDA_KERNEL_NODE_PARAMS& p) {
  std::uint64_t key = handle.content;
  for (const unsigned value :
       {p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes})
    key = mix(key, value);
  return key;
}

void select_next_target(Signature& whole) {
  whole.target = (whole.target + 1) % whole.targets.size();
  const Signature& next = *whole.targets[whole.target].first;
  whole.draws_left = blocks_of_draws * static_cast<int>(first_level + next.blocks.size());
}

}  // namespace

SkipReason Graphs::skip_reason_of(CUgraphExec executable) const {
  cuuint64_t flags = 0;
  if (driver_.graph_exec_flags != nullptr && driver_.graph_exec_flags(executable, &flags) == CUDA_SUCCESS &&
      (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
    return SkipReason::device_graph;
  const bool may_be_set = !options_.observe && options_.registers.empty() && nodes_ < max_nodes &&
                          driver_.graph_exec_set != nullptr && driver_.func_get_param_info != nullptr &&
                          driver_.graph_destroy != nullptr && driver_.graph_node_attribute != nullptr;
  return may_be_set ? SkipReason::none : SkipReason::graph;
}

void Graphs::add(CUgraphExec executable, CUgraph graph, Context& context) {
  remove(executable);  // one whose destruction was not seen
  std::size_t count = 0;
  std::vector<CUgraphNode> nodes;
  if (driver_.graph_nodes != nullptr && driver_.graph_nodes(graph, nullptr, &count) == CUDA_SUCCESS) {
    nodes.resize(count);
    if (count > 0 && driver_.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) nodes.clear();
  }
  store(executable, graph, nodes, nodes, context);
}

void Graphs::store(CUgraphExec executable, CUgraph graph, const std::vector<CUgraphNode>& nodes,
                   const std::vector<CUgraphNode>& sources, Context& context) {
  auto added = std::make_shared<Graph>(Graph{.executable = executable,
                                             .source = graph,
                                             .context = context.handle,
                                             .kernels = kernels_of(driver_, graph).value_or(0),
                                             .skip_reason = skip_reason_of(executable)});
  added->hash = mix(added->kernels, 1);
  if ((added->kernels == 0 || driver_.graph_node_get == nullptr) && added->skip_reason == SkipReason::none)
    added->skip_reason = SkipReason::graph;
  if (driver_.graph_node_get != nullptr) read(*added, nodes, sources, context);
  if (added->skip_reason == SkipReason::none) {
    ++sources_[graph].executables;
    for (const GraphPart& part : added->parts) nodes_ += part.nodes.size();
  } else {
    added->parts.clear();
  }
  graphs_[executable] = std::move(added);
}

/// The graph's kernels by function and shape, in an order independent of where the graph is made.
void Graphs::read(Graph& graph, const std::vector<CUgraphNode>& nodes,
                  const std::vector<CUgraphNode>& sources, Context& context) {
  std::map<std::uint64_t, GraphPart> parts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CUgraphNode const node = nodes[i], source = sources[i];
    CUgraphNodeType type{};
    CUDA_KERNEL_NODE_PARAMS p{};
    if (driver_.graph_node_type(source, &type) != CUDA_SUCCESS) return;
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    if (driver_.graph_node_get(source, &p) != CUDA_SUCCESS) {
      graph.skip_reason = SkipReason::graph;
      return;
    }
    Request request{.function = function_of(p),
                    .config = {p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ,
                               p.sharedMemBytes, nullptr, nullptr, 0}};
    const Handle& handle = functions_.of(request.function, context);
    const std::uint64_t key = graph.keys[node] = key_of(handle, p);
    const auto [place, is_new] = parts.try_emplace(key);
    GraphPart& part = place->second;
    if (is_new) part.request = request;
    part.key = key;
    ++part.request.nodes;
    if (graph.skip_reason != SkipReason::none) continue;
    if (is_new) add_attributes(part, source, handle);
    CUlaunchAttributeValue updatable{};
    if (driver_.graph_node_attribute(source, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &updatable) ==
            CUDA_SUCCESS &&
        updatable.deviceUpdatableKernelNode.deviceUpdatable != 0)
      graph.skip_reason = SkipReason::device_graph;
    if (auto copy = copy_of(node, p, handle))
      part.nodes.push_back(std::move(*copy));
    else
      part.request.kind = SkipReason::no_answer;
  }
  for (auto& [key, part] : parts) {
    graph.hash = mix(mix(graph.hash, key), part.request.nodes);
    part.request.config.attrs = part.attributes.data();
    part.request.config.numAttrs = static_cast<unsigned>(part.attributes.size());
    if (part.request.kind != SkipReason::none) part.nodes.clear();
    graph.parts.push_back(std::move(part));
  }
  for (GraphPart& part : graph.parts) part.request.part_of = graph.hash;
}

std::optional<GraphNode> Graphs::copy_of(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params,
                                         const Handle& handle) const {
  GraphNode copy{.node = node, .params = params};
  if (params.kernelParams != nullptr) {
    std::size_t size = 0;
    for (const Parameter& p : handle.parameters) size = std::max(size, p.offset + p.size);
    copy.values.resize(size);
    for (std::size_t i = 0; i < handle.parameters.size(); ++i) {
      const Parameter& p = handle.parameters[i];
      if (params.kernelParams[i] == nullptr) return std::nullopt;
      std::memcpy(copy.values.data() + p.offset, params.kernelParams[i], p.size);
      copy.pointers.push_back(copy.values.data() + p.offset);
    }
  } else if (params.extra != nullptr) {
    const void* packed = nullptr;
    std::size_t size = 0;
    for (void** at = params.extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) packed = at[1];
      if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const std::size_t*>(at[1]);
    }
    if (packed == nullptr) return std::nullopt;
    copy.values.resize(size);
    std::memcpy(copy.values.data(), packed, size);
  } else if (!handle.parameters.empty()) {
    return std::nullopt;
  }
  return copy;
}

/// Adds the attributes that SkipRules checks. A graph cannot pin the carve-out: if the kernel prefers less
/// than a level needs, fewer blocks than calculated would be resident.
void Graphs::add_attributes(GraphPart& part, CUgraphNode node, const Handle& handle) const {
  constexpr int whole = 100;
  CUlaunchAttribute a{};
  a.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  if (driver_.graph_node_attribute(node, a.id, &a.value) == CUDA_SUCCESS) part.attributes.push_back(a);
  a = {};
  a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  if (driver_.graph_node_attribute(node, a.id, &a.value) == CUDA_SUCCESS) part.attributes.push_back(a);
  a = {};
  a.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  const bool prefers_less = driver_.graph_node_attribute(node, a.id, &a.value) == CUDA_SUCCESS &&
                            a.value.sharedMemCarveout > 0 && a.value.sharedMemCarveout < whole;
  int of_function = -1;
  static_cast<void>(driver_.func_get_attribute(
      &of_function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, handle.function));
  if (prefers_less || (of_function >= 0 && of_function < whole)) part.attributes.push_back(a);
}

void Graphs::update(CUgraphExec executable, CUgraph from, Context& context) {
  const auto found = graphs_.find(executable);
  if (found == graphs_.end() || found->second->skip_reason != SkipReason::none) return;
  const std::shared_ptr<Graph> graph = found->second;
  if (graph->chain.empty()) graph->chain = chain_of(driver_, graph->source);
  const std::vector<CUgraphNode> sources = chain_of(driver_, from);
  if (sources.empty() || sources.size() != graph->chain.size()) return mark_updated(executable);
  bool is_same = true;  // except arguments
  for (std::size_t i = 0; i < sources.size() && is_same; ++i) {
    const auto key = graph->keys.find(graph->chain[i]);
    if (key == graph->keys.end()) continue;
    CUDA_KERNEL_NODE_PARAMS now{};
    if (driver_.graph_node_get(sources[i], &now) != CUDA_SUCCESS) return mark_updated(executable);
    const Handle& handle = functions_.of(function_of(now), context);
    is_same = key_of(handle, now) == key->second && take_over(*graph, graph->chain[i], now, handle);
  }
  if (is_same) return;
  ++sources_[graph->source].executables;  // keeps the nodes after the program destroys the graph
  remove(executable);
  store(executable, graph->source, graph->chain, sources, context);
  graphs_.at(executable)->chain = graph->chain;
  release(graph->source);
}

void Graphs::update_node(CUgraphExec executable, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1& params,
                         Context& context) {
  const auto found = graphs_.find(executable);
  if (found == graphs_.end() || found->second->skip_reason != SkipReason::none) return;
  Graph& graph = *found->second;
  CUDA_KERNEL_NODE_PARAMS now{};  // `func` suffices: CUDA 12 reads its new field only if `func` is null
  std::memcpy(static_cast<void*>(&now), &params, sizeof params);
  const auto key = graph.keys.find(node);
  if (now.func == nullptr || key == graph.keys.end()) return mark_updated(executable);
  const Handle& handle = functions_.of(now.func, context);
  if (key_of(handle, now) != key->second || !take_over(graph, node, now, handle)) mark_updated(executable);
}

bool Graphs::take_over(Graph& graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& now,
                       const Handle& handle) {
  graph.is_applied = false;
  const auto part = std::ranges::find(graph.parts, graph.keys.at(node), &GraphPart::key);
  if (part == graph.parts.end()) return true;
  const auto mine = std::ranges::find(part->nodes, node, &GraphNode::node);
  if (mine == part->nodes.end()) return true;  // a kernel that is never changed
  auto copy = copy_of(node, now, handle);
  if (!copy) return false;
  *mine = std::move(*copy);
  return true;
}

void Graphs::mark_updated(CUgraphExec executable) {
  const auto found = graphs_.find(executable);
  if (found == graphs_.end() || found->second->skip_reason == SkipReason::updated_graph) return;
  const auto before = found->second;
  remove(executable);
  graphs_[executable] = std::make_shared<Graph>(Graph{.executable = executable,
                                                      .context = before->context,
                                                      .kernels = before->kernels,
                                                      .hash = mix(before->hash, 0),
                                                      .skip_reason = SkipReason::updated_graph});
}

void Graphs::remove(CUgraphExec executable) {
  const auto found = graphs_.find(executable);
  if (found == graphs_.end()) return;
  for (const GraphPart& part : found->second->parts) nodes_ -= part.nodes.size();
  release(found->second->source);
  graphs_.erase(found);
}

void Graphs::release(CUgraph graph) {
  const auto found = sources_.find(graph);
  if (found == sources_.end() || --found->second.executables > 0) return;
  if (found->second.is_destroyed) driver_.graph_destroy(graph);
  sources_.erase(found);
}

void Graphs::forget_context(CUcontext context) {
  std::vector<CUgraphExec> all;
  for (const auto& [executable, graph] : graphs_)
    if (graph->context == context) all.push_back(executable);
  for (CUgraphExec executable : all) remove(executable);
}

bool Graphs::defer_destroy(CUgraph graph) {
  const auto found = sources_.find(graph);
  if (found == sources_.end()) return false;
  found->second.is_destroyed = true;
  return true;
}

void Graphs::find_levels(Graph& graph, Context& context) {
  graph.has_levels = true;
  bool any = false;
  for (GraphPart& part : graph.parts) {
    Handle& handle = functions_.of(part.request.function, context);
    const Signature& s = *(part.signature = &signatures_.of(part.request, handle, context));
    if (s.blocks.empty()) part.nodes.clear();
    const auto at = [&](int arm, unsigned added) {
      part.dynamic_smem[static_cast<std::size_t>(arm)] = s.dynamic_smem + added;
    };
    part.dynamic_smem.resize(first_level + s.blocks.size());
    at(untouched, 0);
    if (LevelPlanner::is_padding_verified(s, handle)) at(pinned, s.smem_padding);
    for (std::size_t i = 0; i < s.blocks.size(); ++i)
      if (LevelPlanner::is_verified(s, handle, i)) at(first_level + static_cast<int>(i), s.added[i]);
    any = any || !part.nodes.empty();
  }
  if (!any && graph.skip_reason == SkipReason::none) graph.skip_reason = SkipReason::graph_of_such;
}

Signature& Graphs::signature_of(const Request& request, Context& context) {
  const auto found = graphs_.find(request.graph);
  if (found == graphs_.end())  // instantiated before the library was attached
    return signatures_.of(request, functions_.of_graph(0, 0, SkipReason::graph, context), context);
  Graph& graph = *found->second;
  if (!graph.has_levels) find_levels(graph, context);
  Handle& handle = functions_.of_graph(graph.kernels, graph.hash, graph.skip_reason, context);
  Signature& whole = signatures_.of(request, handle, context);
  if (whole.schedule && whole.targets.empty()) add_targets(whole, graph, context);
  return whole;
}

void Graphs::add_targets(Signature& whole, const Graph& graph, Context& context) {
  std::vector<std::tuple<std::uint64_t, std::size_t, Signature*>> parts;
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    const GraphPart& part = graph.parts[i];
    Signature& s = signatures_.of(part.request, functions_.of(part.request.function, context), context);
    if (!s.schedule) continue;
    s.schedule->use_share(static_cast<double>(part.request.nodes) / static_cast<double>(graph.kernels));
    parts.emplace_back(threads_of(part), i, &s);
  }
  whole.schedule->use_share(1);
  std::ranges::sort(parts, std::greater<>());  // most threads first
  whole.targets.emplace_back(&whole, graph.parts.size());
  for (const auto& [threads, i, signature] : parts) whole.targets.emplace_back(signature, i);
  whole.target = whole.targets.size() - 1;
  select_next_target(whole);
}

Signature& Graphs::draw(const Request& request, Signature& whole, Budget& budget, Schedule::Draw& draw,
                        GraphChange& change) {
  const std::shared_ptr<const Graph>& graph = graphs_.at(request.graph);
  for (std::size_t tried = 0; tried <= whole.targets.size(); ++tried) {
    const auto& [signature, number] = whole.targets[whole.target];
    if (whole.draws_left <= 0 || signature->schedule->is_known()) {
      select_next_target(whole);
      continue;
    }
    draw = signature->schedule->next(budget);
    if (!draw.of_block && !draw.is_warm_up) {
      // A target that the budget cannot pay yet stays next, as in Budget, unless it has no time yet.
      if (signature->schedule->natural_us() == 0) select_next_target(whole);
      return whole;
    }
    --whole.draws_left;
    if (draw.is_warm_up) return *signature;
    change = change_of(graph, signature == &whole, number, draw.arm);
    if (change.graph != nullptr) return *signature;
    signature->schedule->refuse(draw, budget, true);
    draw = {};
    return whole;
  }
  budget.add_run(whole.schedule->natural_us());
  return whole;
}

/// Changes all kernels if `is_whole`, else the one with this number; no graph in the result if none can
/// change.
GraphChange Graphs::change_of(const std::shared_ptr<const Graph>& graph, bool is_whole, std::size_t number,
                              int arm) const {
  GraphChange change;
  for (std::size_t i = 0; i < graph->parts.size(); ++i) {
    const GraphPart& part = graph->parts[i];
    if (part.nodes.empty() || (!is_whole && i != number)) continue;
    const int own = is_whole ? arm_of(*part.signature, arm) : arm;
    if (const auto& smem = part.dynamic_smem[static_cast<std::size_t>(own)])
      change.dynamic_smem.emplace_back(&part, *smem);
  }
  if (!change.dynamic_smem.empty()) change.graph = graph;
  return change;
}

/// The arm of a kernel when the whole graph has `arm`.
int Graphs::arm_of(const Signature& part, int arm) const {
  if (arm < first_level) return arm;
  const double share = options_.levels[static_cast<std::size_t>(arm - first_level)];
  const auto found = std::ranges::find(part.blocks, blocks_at(share, part.blocks_per_sm));
  return found == part.blocks.end() ? untouched : first_level + static_cast<int>(found - part.blocks.begin());
}

std::vector<Signature*> Graphs::apply(const Request& request) {
  std::vector<Signature*> applied;
  const auto found = graphs_.find(request.graph);
  if (found == graphs_.end()) return applied;
  Graph& graph = *found->second;
  for (const GraphPart& part : graph.parts) {
    if (part.nodes.empty() || !part.signature->is_applied || !part.dynamic_smem[first_level]) continue;
    if (!graph.is_applied &&
        set({.graph = found->second, .dynamic_smem = {{&part, *part.dynamic_smem[first_level]}}}) !=
            CUDA_SUCCESS) {
      part.signature->is_applied = false;
      continue;
    }
    applied.push_back(part.signature);
  }
  graph.is_applied = true;
  return applied;
}

CUresult Graphs::set_node(const Graph& graph, const GraphNode& node, unsigned dynamic_smem) const {
  CUDA_KERNEL_NODE_PARAMS params = node.params;
  std::size_t size = node.values.size();
  auto* const values = const_cast<unsigned char*>(node.values.data());
  void* packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, values, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                    CU_LAUNCH_PARAM_END};
  params.sharedMemBytes = dynamic_smem;
  if (params.kernelParams != nullptr)
    params.kernelParams = const_cast<void**>(node.pointers.data());
  else if (params.extra != nullptr)
    params.extra = packed;
  return driver_.graph_exec_set(graph.executable, node.node, &params);
}

CUresult Graphs::set(const GraphChange& change) const {
  for (const auto& [part, dynamic_smem] : change.dynamic_smem)
    for (const GraphNode& node : part->nodes)
      if (const CUresult result = set_node(*change.graph, node, dynamic_smem); result != CUDA_SUCCESS) {
        static_cast<void>(restore(change));
        return result;
      }
  return CUDA_SUCCESS;
}

CUresult Graphs::restore(const GraphChange& change) const {
  CUresult first = CUDA_SUCCESS;
  for (const auto& [part, dynamic_smem] : change.dynamic_smem)
    for (const GraphNode& node : part->nodes)
      if (const CUresult result = set_node(*change.graph, node, part->request.config.sharedMemBytes);
          first == CUDA_SUCCESS)
        first = result;
  return first;
}

}  // namespace occbench::attach
