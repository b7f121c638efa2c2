// SPDX-License-Identifier: Apache-2.0
// Executable CUDA graphs of the program: their kernels, and how one launch gives these fewer warps. The nodes
// are set before the launch and restored after it, so the program sees no change.
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
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signature_table.hpp"

namespace occbench::attach {

/// A kernel node and a copy of its arguments: the driver's copy is freed with the node's graph.
struct GraphNode {
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS params{};
  std::vector<unsigned char> values;
  std::vector<void*> pointers;  ///< to each value; empty if the program packed them
};

/// Nodes of one kernel with the same grid, block and shared memory.
struct GraphPart {
  std::uint64_t key = 0;
  Request request;
  std::vector<CUlaunchAttribute> attributes;  ///< the request's configuration points to these
  std::vector<GraphNode> nodes;               ///< empty if they cannot be set
  Signature* signature = nullptr;
  std::vector<std::optional<unsigned>> dynamic_smem;  ///< per arm, if it was verified
};

struct Graph {
  CUgraphExec executable = nullptr;
  CUgraph source = nullptr;  ///< its nodes identify those of the executable graph
  CUcontext context = nullptr;
  std::uint64_t kernels = 0, hash = 0;
  std::vector<GraphPart> parts;
  std::unordered_map<CUgraphNode, std::uint64_t> keys;  ///< key of the part of each kernel node
  std::vector<CUgraphNode> chain;                       ///< set after an update from another graph
  SkipReason skip_reason = SkipReason::none;
  bool has_levels = false;  ///< levels of its parts were searched
  bool is_applied = false;
};

/// The changes for one launch of a graph.
struct GraphChange {
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<const GraphPart*, unsigned>> dynamic_smem;
};

/// Not thread-safe, except `set` and `restore`.
class Graphs {
 public:
  Graphs(const Options& options, const Driver& driver, Functions& functions, SignatureTable& signatures)
      : options_(options), driver_(driver), functions_(functions), signatures_(signatures) {}

  /// The program instantiated `executable` from `graph` in the current context.
  void add(CUgraphExec executable, CUgraph graph, Context& context);
  /// The program updated it from another graph. If both are chains, nodes map uniquely and their parameters
  /// are copied; otherwise the nodes become unknown.
  void update(CUgraphExec executable, CUgraph from, Context& context);
  /// The program set a kernel node. New arguments for the same kernel and shape are copied for a later `set`;
  /// otherwise the nodes become unknown. `params` has at least the fields of CUDA 11.
  void update_node(CUgraphExec executable, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1& params,
                   Context& context);
  /// The program changed the graph; its nodes become unknown.
  void mark_updated(CUgraphExec executable);
  void remove(CUgraphExec executable);
  /// Call before the context is destroyed.
  void forget_context(CUcontext context);
  /// The program destroys the graph. Returns whether destruction is deferred until the executable graph is
  /// destroyed.
  [[nodiscard]] bool defer_destroy(CUgraph graph);

  /// The signature of the whole graph. Finds the levels of its kernels at its first launch.
  Signature& signature_of(const Request& request, Context& context);
  /// Draws a level of the whole graph or of one kernel for this launch. Returns the signature it belongs to.
  Signature& draw(const Request& request, Signature& whole, Budget& budget, Schedule::Draw& draw,
                  GraphChange& change);
  /// Sets the advised levels for all launches. Returns the signatures they belong to.
  std::vector<Signature*> apply(const Request& request);

  /// Sets the nodes for a launch; restores them on failure.
  CUresult set(const GraphChange& change) const;
  CUresult restore(const GraphChange& change) const;

 private:
  /// Stores the nodes of `graph` that `executable` runs; node i has the parameters of `sources[i]`.
  void store(CUgraphExec executable, CUgraph graph, const std::vector<CUgraphNode>& nodes,
             const std::vector<CUgraphNode>& sources, Context& context);
  [[nodiscard]] SkipReason skip_reason_of(CUgraphExec executable) const;
  void read(Graph& graph, const std::vector<CUgraphNode>& nodes, const std::vector<CUgraphNode>& sources,
            Context& context);
  /// Copies new arguments of a kernel node; false if they cannot be copied.
  bool take_over(Graph& graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& now, const Handle& handle);
  [[nodiscard]] std::optional<GraphNode> copy_of(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params,
                                                 const Handle& handle) const;
  void add_attributes(GraphPart& part, CUgraphNode node, const Handle& handle) const;
  void find_levels(Graph& graph, Context& context);
  [[nodiscard]] int arm_of(const Signature& part, int arm) const;
  void add_targets(Signature& whole, const Graph& graph, Context& context);
  [[nodiscard]] GraphChange change_of(const std::shared_ptr<const Graph>& graph, bool is_whole,
                                      std::size_t number, int arm) const;
  void release(CUgraph graph);
  CUresult set_node(const Graph& graph, const GraphNode& node, unsigned dynamic_smem) const;

  const Options& options_;
  const Driver& driver_;
  Functions& functions_;
  SignatureTable& signatures_;
  std::unordered_map<CUgraphExec, std::shared_ptr<Graph>> graphs_;
  struct Source {
    int executables = 0;
    bool is_destroyed = false;  ///< from the program's view
  };
  std::unordered_map<CUgraph, Source> sources_;
  std::size_t nodes_ = 0;
};

}  // namespace occbench::attach
