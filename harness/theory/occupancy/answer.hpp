// SPDX-License-Identifier: Apache-2.0
// Occupancy of a launch with a status message, and how its grid fills the device: waves, idle SMs, and what
// its last wave costs. For `occbench calc` and the Python package.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

struct GridFill {
  std::int64_t blocks = 0;
  std::int64_t wave_blocks = 0;  ///< resident on the device at once
  double waves = 0;              ///< blocks / wave_blocks
  int idle_sms = 0;              ///< SMs that get no block at all
  /// Largest share of the time that a partial last wave takes; 0 if the last wave is whole. Reached if a
  /// block takes as long as in a whole wave; with fewer blocks on its SM it is faster.
  double tail_share = 0;
  double occupancy = 0;  ///< of the whole device, the mean over the waves if all blocks take equally long

  /// Whether the device could hold more blocks than the grid has.
  [[nodiscard]] bool is_underfilled() const { return blocks < wave_blocks; }
};

/// `wave_blocks`: resident blocks of the device if clusters reduce them; 0: blocks_per_sm on each SM. nullopt
/// if the number of SMs or blocks is unknown, or the footprint cannot launch.
[[nodiscard]] std::optional<GridFill> grid_fill(const SmLimits& sm, const Footprint& footprint,
                                                const Occupancy& occupancy, std::int64_t blocks,
                                                std::int64_t wave_blocks = 0);

struct Query {
  Footprint footprint;
  int cluster_size = 1;
  std::int64_t grid_blocks = 0;  ///< 0: unknown
  bool has_run = false;          ///< taken from a profile, so it has opted in to large shared memory
};

struct Answer {
  Occupancy occupancy;
  std::string status;  ///< "ok", possibly with a remark, or "cannot launch: REASON"
  std::optional<int> active_clusters = {};
  std::optional<GridFill> grid = {};  ///< nullopt if the grid or the number of SMs is unknown

  [[nodiscard]] bool launches() const { return occupancy.is_launchable() && active_clusters != 0; }
};

/// Maximum number of active clusters on the device; nullopt if the device cannot tell.
using ActiveClusters = std::function<std::optional<int>(const Footprint&, int cluster_size)>;

/// `active_clusters` is empty without a GPU: the SMs per GPC are only known at run time.
[[nodiscard]] Answer answer(const SmLimits& sm, const Query& query,
                            const ActiveClusters& active_clusters = {});

}  // namespace occbench::theory
