// SPDX-License-Identifier: Apache-2.0
#include "harness/statistics/speeds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace occbench::statistics {

namespace {

constexpr std::size_t min_launches = 12;
constexpr std::size_t min_group = 3;  // samples
constexpr double min_group_share = 0.15;
constexpr double min_distance = 6;  // between the means, in standard deviations of the groups
constexpr double min_gap = 3;       // between the groups, in the same unit
constexpr double min_difference = 0.01;
constexpr double significance = 0.01;  // level of the runs test

/// Sums of squared distances from the mean of the first k values, for k = 0 ... size.
std::vector<double> scatters(auto begin, auto end) {
  std::vector<double> sums{0};
  double mean = 0;
  double sum = 0;
  double n = 0;
  for (auto x = begin; x != end; ++x) {  // Welford's algorithm, to avoid cancellation
    const double deviation = *x - mean;
    mean += deviation / ++n;
    sum += deviation * (*x - mean);
    sums.push_back(sum);
  }
  return sums;
}

double choose(double n, double k) {
  if (k < 0 || k > n) return 0;
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
}

/// P(at most `runs` runs) for `m` items of one kind and `n` of another in random order.
double runs_probability(int runs, double m, double n) {
  double ways = 0;
  for (int r = 2; r <= runs; ++r) {
    const double half = std::floor(r / 2.0);
    ways += r % 2 == 0 ? 2 * choose(m - 1, half - 1) * choose(n - 1, half - 1)
                       : choose(m - 1, half) * choose(n - 1, half - 1) +
                             choose(m - 1, half - 1) * choose(n - 1, half);
  }
  return ways / choose(m + n, m);
}

}  // namespace

std::optional<TwoSpeeds> two_speeds(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < min_launches) return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::vector<double> below = scatters(sorted.begin(), sorted.end());
  const std::vector<double> above = scatters(sorted.rbegin(), sorted.rend());
  const std::size_t smallest =
      std::max(min_group, static_cast<std::size_t>(std::ceil(min_group_share * static_cast<double>(n))));
  std::size_t cut = 0;  // size of the fast group
  double scatter = std::numeric_limits<double>::infinity();
  for (std::size_t k = smallest; k + smallest <= n; ++k)
    if (below[k] + above[n - k] < scatter) {
      cut = k;
      scatter = below[k] + above[n - k];
    }
  const auto mean = [&](std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += sorted[i];
    return sum / static_cast<double>(last - first);
  };
  const double deviation = std::sqrt(scatter / static_cast<double>(n - 2));
  if (mean(cut, n) - mean(0, cut) < min_distance * deviation ||
      sorted[cut] - sorted[cut - 1] < min_gap * deviation)
    return {};
  TwoSpeeds found{.fast = median(std::span(sorted).first(cut)),
                  .slow = median(std::span(sorted).subspan(cut)),
                  .slow_share = static_cast<double>(n - cut) / static_cast<double>(n)};
  if (found.slow < (1 + min_difference) * found.fast) return {};
  int runs = 1;
  for (std::size_t i = 1; i < n; ++i) runs += (samples[i] < sorted[cut]) != (samples[i - 1] < sorted[cut]);
  found.in_streaks =
      runs_probability(runs, static_cast<double>(cut), static_cast<double>(n - cut)) < significance;
  return found;
}

}  // namespace occbench::statistics
