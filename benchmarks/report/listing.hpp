// SPDX-License-Identifier: Apache-2.0
// All that a run shows, experiment by experiment: `occbench run --verbose`.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "harness/record/record.hpp"

namespace occbench {

/// What a larger preset has: of each experiment, the most values of its dial that a curve has there.
struct Planned {
  std::string preset = {};  ///< empty: none is worth going to
  std::map<std::string, std::size_t> values = {};
};

/// Per experiment: the peaks, the least occupancy at which that kernel reaches 90, 95 and 99 % of them, every
/// finding; of latency_hiding also what harness/fit.hpp reads off its curves. A curve of too few points is
/// only counted.
void print_listing(std::ostream& out, const std::vector<CaseResult>& results, const Planned& next);

}  // namespace occbench
