// SPDX-License-Identifier: Apache-2.0
// A measured kernel as the simulation takes it: what a family of the suite declares of its accesses, read
// from counters instead.
#pragma once

#include <string>
#include <vector>

#include "harness/theory/occupancy/occupancy.hpp"
#include "harness/theory/prediction/model.hpp"
#include "harness/theory/simulator/program.hpp"
#include "harness/whatif/profile.hpp"

namespace occbench::whatif {

/// A launch. Bytes in `facts` are per thread of the launch, since an iteration of `program` is the whole kernel.
struct Kernel {
  theory::Program program;
  theory::LoopFacts facts;
  theory::Footprint footprint;
  int grid_size = 0;
  double time_s = 0;
  double sm_clock_hz = 0;            ///< while it ran; 0: not measured
  double l1_hit = 0, l2_hit = 0;     ///< shares of the bytes that it loads from global memory
  std::vector<std::string> assumed;  ///< what is taken to stay as it was, a line each
};

/// Throws Refused: clusters, atomics, bulk copies, metrics that are missing.
[[nodiscard]] Kernel kernel_of(const Profile& profile, const theory::Program& program,
                               const theory::SmLimits& sm, std::size_t l2_bytes);

}  // namespace occbench::whatif
