// SPDX-License-Identifier: Apache-2.0
// How far the next step of the occupancy stairs is, in every dial and both directions, and what lies idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/theory/occupancy.hpp"

namespace occbench::theory {

/// The nearest value of one dial at which the number of resident blocks changes, all else unchanged.
struct Cliff {
  std::int64_t value = 0;  ///< of the dial: registers per thread, bytes, threads or barriers
  std::int64_t delta = 0;  ///< value minus the footprint's own; positive when more is needed
  int blocks_per_sm = 0;   ///< at `value`; 0 when no block launches there
  double occupancy = 0;    ///< at `value`, as a fraction
};

/// One dial's cliffs. nullopt where no value up to the dial's own limit (255 registers, the opt-in shared
/// memory, the block size limit, 16 barriers) or down to its least changes the number of blocks, for instance
/// because another resource binds.
struct Cliffs {
  std::optional<Cliff> loses;  ///< the least larger value with fewer blocks
  std::optional<Cliff> gains;  ///< the greatest smaller value with more blocks
};

struct AllCliffs {
  Cliffs registers, dynamic_smem, threads, barriers;
};

[[nodiscard]] AllCliffs cliffs(const SmLimits& sm, const Footprint& footprint);

/// What one SM leaves unused at this residency.
struct Slack {
  int warps = 0;
  int blocks = 0;
  int registers = 0;
  std::size_t smem_bytes = 0;   ///< of the shared memory that the carve-out sets aside
  std::optional<int> barriers;  ///< nullopt where barriers are not counted (before cc 9.0)
};

[[nodiscard]] Slack slack(const SmLimits& sm, const Footprint& footprint);

}  // namespace occbench::theory
