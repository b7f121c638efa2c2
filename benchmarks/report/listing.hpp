// SPDX-License-Identifier: Apache-2.0
// Every peak and finding of a run, by experiment: `occbench run --verbose`.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/report/findings/findings.hpp"
#include "harness/record/record.hpp"

namespace occbench {

/// A larger preset: the most values of the dial that a curve has there, by experiment.
struct Planned {
  std::string preset = {};  ///< empty: no larger one
  std::map<std::string, std::size_t> values = {};
};

/// Per experiment: the peaks, the lowest occupancy at which that kernel reaches 90, 95 and 99 % of them, and
/// every finding; for latency_hiding also the fits of harness/statistics/fit.hpp. Curves with too few points
/// are only counted.
void print_listing(std::ostream& out, const std::vector<CaseResult>& results, const Planned& next,
                   const std::vector<findings::ExperimentFindings>& found);

}  // namespace occbench
