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
  std::string name;  ///< for the note on a launch that does not end
  int blocks_per_sm = 0, block_size = 0;
  unsigned dynamic_smem = 0;
  std::optional<CUlaunchAttribute> cluster;  ///< for clusters of more than one block
  std::uint64_t hash = 0;
  SkipReason skip_reason = SkipReason::none;
  std::optional<Schedule> schedule;  // its flag and the following fields are read at each launch
  std::uint64_t launches = 0;
  std::size_t number = 0;
  std::vector<int> blocks;        ///< per SM, of arms from first_level on
  std::vector<unsigned> added;    ///< dynamic shared memory that enforces them
  std::vector<Version> versions;  ///< instead of levels; the handles have their functions
  std::vector<int> shares;        ///< SMs of the arms after these
  bool has_planned_shares = false;
  bool is_applied = false;  ///< every launch gets the first level
  bool is_in_graph = false;
  unsigned smem_padding = 0;  ///< dynamic shared memory that keeps natural occupancy, in a graph
  /// Of a CUDA graph: its own signature and its kernels', with their numbers. Their levels are tried in turn:
  /// `target` is the current one.
  std::vector<std::pair<Signature*, std::size_t>> targets;
  std::size_t target = 0;
  int draws_left = 0;
  bool is_part = false;            ///< holds another's launches after one specific kernel
  int parts = 0;                   ///< number of signatures its launches were split into
  std::uint64_t first_before = 0;  ///< hash of the first previous kernel; a single one causes no split

  /// The first arm on fewer SMs.
  [[nodiscard]] int first_share() const {
    return first_level + static_cast<int>(blocks.size() + versions.size());
  }
};

/// Resident blocks nearest to a share of the natural ones, but fewer.
[[nodiscard]] inline int blocks_at(double share, int natural) {
  return std::clamp(static_cast<int>(std::lround(share * natural)), 1, natural - 1);
}

}  // namespace occbench::attach
