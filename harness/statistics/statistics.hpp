// SPDX-License-Identifier: Apache-2.0
// Order statistics of samples.
#pragma once

#include <cstddef>
#include <span>

namespace occbench::statistics {

/// Confidence level of every reported interval; columns have it in their names (ci95).
inline constexpr double confidence = 0.95;

/// The median and a distribution-free confidence interval for it, in the unit of the samples.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  /// Half the interval's width over the median: the '+-' of the reports.
  [[nodiscard]] double relative_half_width() const { return (high - low) / 2 / median; }
  /// Widens the interval by a timer's resolution: rounding may shift all samples by one step.
  [[nodiscard]] MedianInterval widened_by(double step) const { return {median, low - step, high + step}; }
};

/// The median; for an even count the mean of the middle two. Throws std::invalid_argument if there are no
/// samples.
double median(std::span<const double> samples);

/// The smallest sample that at least a share `p` (0 to 1) of all samples does not exceed. Throws
/// std::invalid_argument if there are no samples.
double quantile(std::span<const double> samples, double p);

/// Fewest samples for which a two-sided interval exists (6 at 95 %): the median lies between the smallest and
/// the largest of n samples with probability 1 - 2 / 2^n.
constexpr std::size_t min_samples(double level = confidence) {
  std::size_t n = 2;
  for (double tail = 0.25; tail > (1 - level) / 2; tail /= 2) ++n;
  return n;
}

/// The median and its order-statistic interval at `level` or better, with ranks from the binomial
/// distribution B(n, 1/2); assumes independence only (Conover, Practical Nonparametric Statistics, 3.2).
/// With fewer than min_samples() the interval is (min, max), at a lower confidence. Throws
/// std::invalid_argument if there are no samples.
MedianInterval median_interval(std::span<const double> samples, double level = confidence);

}  // namespace occbench::statistics
