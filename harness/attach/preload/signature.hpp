// SPDX-License-Identifier: Apache-2.0
// A signature: launches of one function with one shape and equal arguments.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/versions.hpp"

namespace occbench::attach {

struct Signature {
  std::string name;  ///< for the sentence on a launch that does not end
  int blocks_per_sm = 0, block_size = 0;
  unsigned dynamic_smem = 0;
  std::optional<CUlaunchAttribute> cluster;  ///< of launches in clusters of more than one block
  std::uint64_t hash = 0;
  SkipReason skip_reason = SkipReason::no;
  std::optional<Schedule> schedule;  // its flag, and what follows, is what each launch reads
  std::uint64_t launches = 0;
  std::size_t number = 0;
  std::vector<int> blocks;        ///< of arms from first_level on
  std::vector<unsigned> added;    ///< the dynamic shared memory that makes them
  std::vector<Version> versions;  ///< in place of levels; their functions are the handles'
  std::vector<int> shares;        ///< SMs of the arms after those
  bool has_planned_shares = false;
  bool is_applied = false;  ///< the first level, in every launch
  bool is_in_graph = false;
  unsigned smem_padding = 0;  ///< dynamic shared memory that may be added at natural occupancy, in a graph
  /// Of a CUDA graph: itself and those of its kernels, with their numbers, whose levels are tried one after
  /// the other; the current one, and how many draws it has left.
  std::vector<std::pair<Signature*, std::size_t>> targets;
  std::size_t target = 0;
  int draws_left = 0;
  bool is_part = false;            ///< of another's launches: those after one other kernel
  int parts = 0;                   ///< into which its own launches were split
  std::uint64_t first_before = 0;  ///< hash of what ran before first: one alone splits nothing

  /// The first arm on fewer SMs.
  [[nodiscard]] int first_share() const {
    return first_level + static_cast<int>(blocks.size() + versions.size());
  }
};

/// Resident blocks nearest to a share of the natural ones, and fewer than these.
[[nodiscard]] inline int blocks_at(double share, int natural) {
  return std::clamp(static_cast<int>(std::lround(share * natural)), 1, natural - 1);
}

}  // namespace occbench::attach
