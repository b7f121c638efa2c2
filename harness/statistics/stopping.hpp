// SPDX-License-Identifier: Apache-2.0
// When a case has been visited often enough.
#pragma once

#include <span>

#include "harness/statistics/statistics.hpp"

namespace occbench::statistics {

/// Looks at the median's 95 % interval after `least` visits, and after every `every` more until it is narrow
/// or `most` are made. Where the visits lie over a whole run, the interval is of the median over that time.
/// tests/stopping_test.cpp simulates how often it holds the truth, stopping included.
struct StoppingRule {
  double half_width = 0.005;  ///< relative: the aim
  int least = 9;
  int every = 3;  ///< after each visit, chance would end it too soon
  int most = 30;
  double timer_step = 0;  ///< in the unit of the samples

  [[nodiscard]] bool looks_after(int visits) const {
    return visits >= most || (visits >= least && (visits - least) % every == 0);
  }
  /// The interval is there, and as narrow as it is to be.
  [[nodiscard]] bool is_precise(std::span<const double> samples) const {
    return samples.size() >= least_samples(0.95) &&
           median_interval(samples).of_steps(timer_step).relative_half_width() <= half_width;
  }
};

}  // namespace occbench::statistics
