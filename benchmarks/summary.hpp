// SPDX-License-Identifier: Apache-2.0
// The closing words of a run: what was measured and how well, what is most worth reading, and where it lies.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/sweep.hpp"
#include "harness/record.hpp"

namespace occbench {

/// What the results do not say of their run.
struct Closing {
  std::string device;  ///< "NVIDIA H200", "model of H200"
  bool is_model = false;
  Preset preset = Preset::standard;
  double elapsed_s = 0;
  double half_width = 0;        ///< of the median's interval, relative: the precision aimed at
  std::size_t rows_before = 0;  ///< that the folder held when the run was resumed
  bool has_parameters = true;   ///< for predictions
  bool interrupted = false;
  std::string folder;
  bool is_default_folder = true;  ///< which the tools find by themselves
};

/// At most 25 lines of at most 80 columns, but for a folder's name that is longer.
void print_closing(std::ostream& out, const std::vector<CaseResult>& results, const Closing& closing);

/// All of it: per experiment and ceiling the peak, the least occupancy at which that kernel reaches 90, 95 and 99 % of it,
/// the deepest cliff along the experiment's dial; of latency_hiding also what harness/fit.hpp reads off its curves. Then
/// what was skipped or invalid, and why.
void print_listing(std::ostream& out, const std::vector<CaseResult>& results);

}  // namespace occbench
