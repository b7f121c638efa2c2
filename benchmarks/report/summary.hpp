// SPDX-License-Identifier: Apache-2.0
// The closing lines on the terminal: what was measured and how well, findings, files, what to do next.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/report/findings/findings.hpp"
#include "benchmarks/report/listing.hpp"
#include "harness/record/record.hpp"

namespace occbench {

/// What the results do not say themselves.
struct RunFacts {
  std::string device = {};  ///< "NVIDIA H200", "model of H200"
  bool is_model = false;
  bool has_predictions = false;
  double seconds = 0;
  double half_width = 0.005;  ///< of the median's 95 % interval, relative: the target
  std::string preset = {};
  Planned next = {};  ///< what a larger preset has; empty where a filter or the user cut this run short
  std::size_t rows_before = 0;  ///< of a run that was resumed
  std::string folder = {};
  bool is_newest = false;        ///< under ./results, so that the tools find it by themselves
  std::string disturbance = {};  ///< as Runner has it
  bool interrupted = false;
  std::size_t expected = 0;                                 ///< cases that it would have had
  std::vector<findings::ExperimentFindings> findings = {};  ///< of the whole folder
};

/// At most `max_summary_lines` lines of at most 80 characters; only a path is never broken or cut.
constexpr std::size_t summary_columns = 80;
constexpr std::size_t max_summary_lines = 23;  // the banner of a model and its like come on top: 25 in all
void print_summary(std::ostream& out, const std::vector<CaseResult>& results, const RunFacts& facts);

}  // namespace occbench
