// SPDX-License-Identifier: Apache-2.0
// The functions that a process launches, by handle and context, and what the driver says of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/flat_map.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/versions.hpp"

namespace occbench::attach {

/// A function as the program names it in one context, or all CUDA graphs with one hash. The fields that each
/// launch reads come first.
struct Handle {
  std::uint64_t content = 0;     ///< equal for equal functions in several modules
  std::uint64_t graph_hash = 0;  ///< for CUDA graphs
  std::vector<Parameter> parameters;
  CUfunction function = nullptr;
  int number = -1;
  bool has_many_arguments = false;  ///< some shape has too many to tell apart
  std::uint64_t graph_kernels = 0;  ///< for CUDA graphs
  SkipReason graph_skip_reason = SkipReason::graph;
  std::string name;
  int registers = 0, static_smem = 0, largest_block = 0, max_dynamic_smem = 0;
  bool is_cluster = false, is_known = false;
  std::unordered_map<std::uint64_t, bool> verified;  ///< by signature and level, for this handle
  std::unordered_map<std::uint64_t, std::vector<Version>> versions;  ///< by signature, for this handle
};

/// Not thread-safe.
class Functions {
 public:
  Functions(const Driver& driver, RecordWriter& writer) : driver_(driver), writer_(writer) {}

  Handle& of(CUfunction function, const Context& context);
  /// The handle for all graphs with one hash; 0: unknown graphs.
  Handle& of_graph(std::uint64_t kernels, std::uint64_t hash, SkipReason reason, const Context& context);
  /// Call when handles may refer to other functions from now on.
  void forget();

 private:
  void read(Handle& handle, CUfunction named, const Context& context);
  void number(Handle& handle, const Context& context, int local_bytes, int binary_version);

  const Driver& driver_;
  RecordWriter& writer_;
  std::deque<Handle> handles_;
  FlatMap<Handle> by_handle_;
  std::map<std::pair<std::uint64_t, int>, Handle> graphs_;  ///< by hash and device
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace occbench::attach
