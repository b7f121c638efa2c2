// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/occupancy/grid.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

std::optional<GridFill> grid_fill(const SmLimits& sm, const Footprint& footprint, const Occupancy& occupancy,
                                  std::int64_t blocks, std::int64_t wave_blocks) {
  if (blocks < 1 || sm.sm_count < 1 || occupancy.blocks_per_sm < 1) return std::nullopt;
  GridFill fill{.blocks = blocks, .wave_blocks = wave_blocks};
  if (wave_blocks < 1) fill.wave_blocks = std::int64_t{occupancy.blocks_per_sm} * sm.sm_count;
  fill.waves = static_cast<double>(blocks) / static_cast<double>(fill.wave_blocks);
  // The scheduler gives each SM a block before any gets a second.
  fill.idle_sms = static_cast<int>(sm.sm_count - std::min<std::int64_t>(blocks, sm.sm_count));
  const std::int64_t whole_waves = blocks / fill.wave_blocks;
  const bool has_tail = blocks % fill.wave_blocks != 0;
  const double time_in_waves = static_cast<double>(whole_waves) + (has_tail ? 1 : 0);
  if (has_tail) fill.tail_share = 1 / time_in_waves;
  const double warps = static_cast<double>(blocks) * warps_per_block(sm, footprint);
  fill.occupancy = warps / time_in_waves / sm.max_warps_per_sm() / sm.sm_count;
  return fill;
}

}  // namespace occbench::theory
