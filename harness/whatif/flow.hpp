// SPDX-License-Identifier: Apache-2.0
// Derives the model's inputs from hardware counters of a measured kernel, instead of from declarations as for
// the suite's kernels.
#pragma once

#include <string>
#include <vector>

#include "harness/theory/occupancy/occupancy.hpp"
#include "harness/theory/prediction/model.hpp"
#include "harness/theory/simulator/program.hpp"
#include "harness/whatif/profile.hpp"

namespace occbench::whatif {

/// A measured launch. An iteration of `program` is the whole kernel, so bytes in `facts` are per thread.
struct Kernel {
  theory::Program program;
  theory::LoopFacts facts;
  theory::Footprint footprint;
  int grid_size = 0;
  double time_s = 0;
  double sm_clock_hz = 0;                ///< during the launch; 0: not measured
  double l1_hit = 0, l2_hit = 0;         ///< shares of the bytes loaded from global memory
  std::vector<std::string> assumptions;  ///< assumptions of the prediction, one per line
};

/// Throws UnsupportedProfile on clusters, atomics, bulk copies and missing metrics.
[[nodiscard]] Kernel kernel_of(const Profile& profile, const theory::Program& program,
                               const theory::SmLimits& sm, std::size_t l2_bytes);

/// Arguments of `occbench machine-code`: FILE, and execution counts from the profile. Throws
/// UnsupportedProfile if the profile has none.
[[nodiscard]] std::vector<std::string> machine_code_words(const std::string& file, const Profile& profile);

/// Parses its output. Throws UnsupportedProfile if that is not the description of one kernel.
[[nodiscard]] theory::Program parse_code(const std::string& text);

}  // namespace occbench::whatif
