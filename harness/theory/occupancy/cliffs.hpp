// SPDX-License-Identifier: Apache-2.0
// How far the next step of the occupancy stairs is, in every dial and both directions, and what lies idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

/// Registers and barriers are turned one by one, dynamic shared memory by this, threads by warps.
constexpr std::int64_t smem_step_bytes = 128;

/// The nearest value of one dial at which occupancy changes, all else unchanged.
struct Cliff {
  std::int64_t value = 0;  ///< of the dial: registers per thread, bytes, threads or barriers
  std::int64_t delta = 0;  ///< value minus the footprint's own
  int blocks_per_sm = 0;   ///< at `value`; 0 when no block launches there
  double occupancy = 0;    ///< at `value`, as a fraction
};

/// One dial's cliffs. nullopt where no value up to the dial's own limit (255 registers, the opt-in shared
/// memory, the block size limit, 16 barriers) or down to its least changes occupancy so, for instance because
/// another resource binds. More threads may gain, and fewer may lose; of two equally near the larger is
/// taken.
struct Cliffs {
  std::optional<Cliff> loses;  ///< the nearest value with less occupancy
  std::optional<Cliff> gains;  ///< the nearest value with more occupancy
};

struct AllCliffs {
  Cliffs registers, dynamic_smem, threads, barriers;
};

[[nodiscard]] AllCliffs cliffs(const SmLimits& sm, const Footprint& footprint);

/// Registers and dynamic shared memory to give up together for one block more: the most of each that allows
/// it.
struct JointGain {
  Cliff registers, dynamic_smem;
};

/// nullopt where one of the two alone gains, or both together do not: another resource binds.
[[nodiscard]] std::optional<JointGain> gains_together(const SmLimits& sm, const Footprint& footprint);

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
