// SPDX-License-Identifier: Apache-2.0
// Distance to the next occupancy cliff in each dial and direction, and the resources left unused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

/// The nearest value of a dial at which occupancy changes, all else being equal: exact to one register, byte
/// or barrier, and to a whole warp of threads.
struct Cliff {
  std::int64_t value = 0;  ///< of the dial: registers per thread, bytes, threads or barriers
  std::int64_t delta = 0;  ///< value minus the footprint's own
  int blocks_per_sm = 0;   ///< at `value`; 0 if no block launches there
  double occupancy = 0;    ///< at `value`, as a fraction
};

/// Cliffs of one dial; nullopt if no value within the dial's limits (255 registers, the opt-in shared memory,
/// the block size limit, 16 barriers) has that effect, for instance because another resource limits. More
/// threads may gain and fewer may lose; if two are equally near, the larger is used.
struct Cliffs {
  std::optional<Cliff> loses;  ///< the nearest value with less occupancy
  std::optional<Cliff> gains;  ///< the nearest value with more occupancy
};

struct AllCliffs {
  Cliffs registers, dynamic_smem, threads, barriers;
};

[[nodiscard]] AllCliffs cliffs(const SmLimits& sm, const Footprint& footprint);

/// Registers and dynamic shared memory that allow one more block if both are reduced: the largest values
/// that do.
struct JointGain {
  Cliff registers, dynamic_smem;
};

/// nullopt if reducing one of the two suffices, or if another resource limits.
[[nodiscard]] std::optional<JointGain> gains_together(const SmLimits& sm, const Footprint& footprint);

/// Resources of an SM that stay unused at this residency.
struct Unused {
  int warps = 0;
  int blocks = 0;
  int registers = 0;
  std::size_t smem_bytes = 0;   ///< of the carve-out
  std::optional<int> barriers;  ///< nullopt before cc 9.0, where barriers are not counted
};

[[nodiscard]] Unused unused_resources(const SmLimits& sm, const Footprint& footprint);

}  // namespace occbench::theory
