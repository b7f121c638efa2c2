// SPDX-License-Identifier: Apache-2.0
// Executable CUDA graphs of the program: which kernels they hold, and how these have fewer warps in one
// launch. Their nodes are set before it and set back behind it, so that the program finds them as it made
// them. Its caller sees to it that one thread at a time is in it, but for `set` and `set_back`.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signatures.hpp"

namespace occbench::attach {

/// A kernel node, and a copy of its arguments: the driver's own ends with the graph that the node is of.
struct GraphNode {
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS params{};
  std::vector<unsigned char> values;
  std::vector<void*> pointers;  ///< to the values one by one; none where the program packed them
};

/// Nodes of one kernel with the same grid, block and shared memory.
struct GraphPart {
  Request request;
  std::vector<CUlaunchAttribute> attributes;  ///< that the request's configuration points to
  std::vector<GraphNode> nodes;               ///< none where they cannot be set
  Signature* signature = nullptr;
  std::vector<std::optional<unsigned>> dynamic_smem;  ///< of each arm that was verified
};

struct Graph {
  CUgraphExec executable = nullptr;
  CUgraph made_from = nullptr;  ///< whose nodes are named when the executable one is set
  CUcontext context = nullptr;
  std::uint64_t kernels = 0, hash = 0;
  std::vector<GraphPart> parts;
  SkipReason skip_reason = SkipReason::no;
  bool has_levels = false;  ///< those of its parts have been looked for
  bool is_applied = false;
};

/// What one launch of a graph is to change.
struct GraphChange {
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<const GraphPart*, unsigned>> dynamic_smem;
};

class Graphs {
 public:
  Graphs(const Options& options, const Driver& driver, Signatures& signatures);

  /// The program made `executable` of `graph`, in the current context.
  void made(CUgraphExec executable, CUgraph graph, Context& context);
  /// What its nodes are now is not known any more.
  void updated(CUgraphExec executable);
  void ended(CUgraphExec executable);
  /// Before the context ends.
  void forget_context(CUcontext context);
  /// Whether the program's graph is still needed: then it is destroyed with the executable one.
  [[nodiscard]] bool keeps(CUgraph graph);

  /// Of the graph as a whole. Finds the levels of its kernels at its first launch.
  Signature& signature_of(const Request& request, Context& context);
  /// What is tried in this launch: the whole's levels, or those of one of its kernels. Returns the signature
  /// that the draw is of.
  Signature& draw(const Request& request, Signature& whole, Budget& budget, Schedule::Draw& draw,
                  GraphChange& change);
  /// Sets the levels that the folder's advice says, for all launches. Returns whose they are.
  std::vector<Signature*> apply(const Request& request);

  /// Sets the nodes for a launch; where that fails they are as they were.
  CUresult set(const GraphChange& change) const;
  CUresult set_back(const GraphChange& change) const;

 private:
  void read(Graph& graph, const std::vector<CUgraphNode>& nodes, Context& context);
  [[nodiscard]] std::optional<GraphNode> copy_of(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params,
                                                 const Handle& handle) const;
  void add_attributes(GraphPart& part, CUgraphNode node, const Handle& handle) const;
  void find_levels(Graph& graph, Context& context);
  [[nodiscard]] int arm_of(const Signature& part, int arm) const;
  void let_go(CUgraph graph);
  CUresult set_node(const Graph& graph, const GraphNode& node, unsigned dynamic_smem) const;

  const Options& options_;
  const Driver& driver_;
  Signatures& signatures_;
  std::unordered_map<CUgraphExec, std::shared_ptr<Graph>> graphs_;
  struct Kept {
    int executables = 0;
    bool is_destroyed = false;  ///< as far as the program knows
  };
  std::unordered_map<CUgraph, Kept> kept_;
  std::size_t nodes_ = 0;
};

}  // namespace occbench::attach
