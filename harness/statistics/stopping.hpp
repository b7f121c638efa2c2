// SPDX-License-Identifier: Apache-2.0
// Decides when a case has enough samples.
#pragma once

#include <span>

#include "harness/statistics/statistics.hpp"

namespace occbench::statistics {

/// Checks the median's 95 % interval after `min_samples` samples and then every `check_every`, until it is
/// narrow enough or there are `max_samples`. Samples are spread over the run, so the interval covers drift
/// during it. tests/stopping_test.cpp simulates the coverage of the interval under this rule.
struct StoppingRule {
  double half_width = 0.005;  ///< target, relative
  int min_samples = 9;
  int check_every = 3;  ///< checking after every sample would stop too early by chance
  int max_samples = 30;
  double timer_step = 0;  ///< in the unit of the samples

  [[nodiscard]] bool checks_after(int samples) const {
    return samples >= max_samples || (samples >= min_samples && (samples - min_samples) % check_every == 0);
  }
  /// Whether the interval exists and is narrow enough.
  [[nodiscard]] bool is_precise(std::span<const double> samples) const {
    return samples.size() >= statistics::min_samples() &&
           median_interval(samples).widened_by(timer_step).relative_half_width() <= half_width;
  }
};

}  // namespace occbench::statistics
