// SPDX-License-Identifier: Apache-2.0
// Samples in, numbers out. Knows doubles and nothing else.
#pragma once

#include <cstddef>
#include <span>

namespace occbench::statistics {

/// The median and a distribution-free confidence interval for it, in the unit of the samples.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  /// Half the interval's width over the median: the '+-' that a run aims at.
  [[nodiscard]] double relative_half_width() const { return (high - low) / 2 / median; }
  /// The interval where a timer rounded the samples to whole steps: each may be a step away, and so may the
  /// median, however well they agree.
  [[nodiscard]] MedianInterval of_steps(double step) const { return {median, low - step, high + step}; }
};

/// Median; the mean of the middle two for an even count. Throws std::invalid_argument on no samples.
double median(std::span<const double> samples);

/// The least sample that at least a share `p` (0 to 1) of them does not exceed. Throws std::invalid_argument
/// on no samples.
double quantile(std::span<const double> samples, double p);

/// Samples needed before a two-sided interval of `confidence` exists at all (6 at 95 %).
std::size_t least_samples(double confidence);

/// Median with its order-statistic interval at `confidence` or better: ranks from the binomial
/// distribution B(n, 1/2), no assumption on the distribution but independence (Conover, Practical
/// Nonparametric Statistics, 3.2). With fewer than least_samples() the interval is (min, max), short
/// of the confidence. Throws std::invalid_argument on no samples.
MedianInterval median_interval(std::span<const double> samples, double confidence = 0.95);

}  // namespace occbench::statistics
