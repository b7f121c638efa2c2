// SPDX-License-Identifier: Apache-2.0
// What --apply compares of two runs: the program's own steps, the time of its kernels, and the wall time.
#pragma once

#include <cstddef>
#include <string>

#include "harness/attach/analysis/collect.hpp"

namespace occbench::commands {

struct RunTimes {
  double step_s = 0;  ///< mean; 0: the program marks no steps, or only one
  std::size_t steps = 0;
  std::string range;  ///< whose beginnings are its steps; empty: they lie between the profiler's calls
  /// A range that would mark its steps, but begins again long before the GPU has finished.
  std::string unsynchronized_range;
  double gpu_s = 0;  ///< kernels and graphs, by those that were timed; 0: none
};

[[nodiscard]] RunTimes times_of(const attach::Collected& all);

}  // namespace occbench::commands
