// SPDX-License-Identifier: Apache-2.0
// Whether the launches of one signature are of several kinds (other sizes behind a pointer, other data in a
// cache), so that their median describes none of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

constexpr double most_spread = 0.10;     // of the median: beyond it there are several kinds
constexpr double most_elsewhere = 0.15;  // of launches with another time: likewise

/// Median absolute deviation over the median.
inline double spread(const std::vector<double>& times) {
  const double middle = statistics::median(times);
  std::vector<double> distances;
  for (const double t : times) distances.push_back(std::abs(t - middle));
  return statistics::median(distances) / middle;
}

/// The share of times far from the median: the median deviation misses a second population below half.
inline double outlier_share(const std::vector<double>& times) {
  const double middle = statistics::median(times);
  const auto far =
      std::ranges::count_if(times, [&](double t) { return std::abs(t - middle) > 2 * most_spread * middle; });
  return static_cast<double>(far) / static_cast<double>(times.size());
}

inline bool has_several_kinds(const std::vector<double>& times) {
  return spread(times) > most_spread || outlier_share(times) > most_elsewhere;
}

}  // namespace occbench::attach
