// SPDX-License-Identifier: Apache-2.0
#include "harness/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace occbench::statistics {

namespace {

std::vector<double> sort_copy(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics need at least one sample");
  std::vector<double> out(samples.begin(), samples.end());
  std::ranges::sort(out);
  return out;
}

double middle(const std::vector<double>& s) {
  const std::size_t n = s.size();
  return n % 2 == 1 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

/// The largest k with P(B(n, 1/2) < k) <= (1 - level) / 2: the interval is (k-th smallest, k-th largest). 0
/// if even (min, max) has a lower confidence.
std::size_t interval_rank(std::size_t n, double level) {
  const double tail = (1 - level) / 2;
  const double count = static_cast<double>(n);
  double below = 0;  // P(B < k)
  std::size_t k = 0;
  while (k < n / 2) {
    const double i = static_cast<double>(k);
    below += std::exp(std::lgamma(count + 1) - std::lgamma(i + 1) - std::lgamma(count - i + 1) -
                      count * std::log(2.0));
    if (below > tail) break;
    ++k;
  }
  return k;
}

}  // namespace

double median(std::span<const double> samples) { return middle(sort_copy(samples)); }

double quantile(std::span<const double> samples, double p) {
  const auto s = sort_copy(samples);
  const double rank = std::ceil(p * static_cast<double>(s.size()));
  return s[static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(s.size()))) - 1];
}

MedianInterval median_interval(std::span<const double> samples, double level) {
  const auto s = sort_copy(samples);
  const std::size_t k = std::max<std::size_t>(1, interval_rank(s.size(), level));
  return {middle(s), s[k - 1], s[s.size() - k]};
}

}  // namespace occbench::statistics
