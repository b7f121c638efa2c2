// SPDX-License-Identifier: Apache-2.0
// How a grid fills a device: waves, idle SMs, and what its last wave costs.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

struct GridFill {
  std::int64_t blocks = 0;
  std::int64_t wave_blocks = 0;  ///< resident on the device at once
  double waves = 0;              ///< blocks / wave_blocks
  int idle_sms = 0;              ///< SMs that get no block at all
  /// Largest share of the time that a partial last wave takes; 0 if the last wave is whole. Reached if a
  /// block takes as long as in a whole wave; beside fewer blocks on its SM it is faster.
  double tail_share = 0;
  double occupancy = 0;  ///< of the whole device, the mean over the waves if all blocks take equally long

  /// Whether the device could hold more blocks than the grid has.
  [[nodiscard]] bool is_underfilled() const { return blocks < wave_blocks; }
};

/// `wave_blocks`: how many the device holds at once if clusters reduce it; 0: blocks_per_sm on each SM.
/// nullopt if the number of SMs or blocks is unknown, or the footprint cannot launch.
[[nodiscard]] std::optional<GridFill> grid_fill(const SmLimits& sm, const Footprint& footprint,
                                                const Occupancy& occupancy, std::int64_t blocks,
                                                std::int64_t wave_blocks = 0);

}  // namespace occbench::theory
