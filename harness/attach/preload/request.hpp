// SPDX-License-Identifier: Apache-2.0
// A launch as the program asks for it: what distinguishes it, and what prevents changing it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/attach/protocol/protocol.hpp"

namespace occbench::attach {

/// A launch as the program requested it. `stream` is never 0.
struct Request {
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  void** parameters = nullptr;
  void** extra = nullptr;
  bool is_per_thread = false;  ///< stream 0 is the thread's default stream
  CUgraphExec graph = nullptr;
  std::uint64_t part_of = 0;           ///< for kernels of a CUDA graph: the graph's hash
  unsigned nodes = 0;                  ///< and the number of its nodes with this kernel
  SkipReason kind = SkipReason::none;  ///< why this kind of call is never changed
};

/// A kernel parameter's offset and size in bytes.
struct Parameter {
  std::size_t offset = 0, size = 0;
};

[[nodiscard]] inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  return hash ^ (hash >> 27);
}

/// A hash of the arguments that are not addresses.
[[nodiscard]] std::uint64_t argument_hash(const Request& request, const std::vector<Parameter>& parameters);

/// Blocks per cluster according to the launch attributes; 1: none.
[[nodiscard]] unsigned cluster_size(const CUlaunchConfig& config);

/// Whether the launch may start before the previous one in its stream has ended (programmatic dependent
/// launch).
[[nodiscard]] bool may_start_early(const CUlaunchConfig& config);

/// Why the attributes of a launch prevent changing it.
[[nodiscard]] SkipReason reason_in_attributes(const CUlaunchConfig& config);

}  // namespace occbench::attach
