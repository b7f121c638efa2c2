// SPDX-License-Identifier: Apache-2.0
// Detects bimodal launch times, which no single median represents.
#pragma once

#include <optional>
#include <span>

namespace occbench::statistics {

/// A fast and a slow group of launches with a gap between them.
struct TwoSpeeds {
  double fast = 0;  ///< median of each group, in the unit of the samples
  double slow = 0;
  double slow_share = 0;    ///< share of the samples
  bool in_streaks = false;  ///< launches of one group follow each other more often than by chance
};

/// Splits `samples`, given in the order of measurement, into two groups; nullopt if they are unimodal or
/// fewer than 12.
///
/// The split minimizes the squared distances from the two means (Fisher, JASA 53, 1958). It is accepted if
/// the means are six standard deviations of the groups apart, the gap between the groups is three, each
/// group has at least three samples and 15 % of all, and the medians differ by 1 %. tests/speeds_test.cpp
/// simulates the rates of false and missed detections. `in_streaks`: runs test of Wald and Wolfowitz (Ann.
/// Math. Stat. 11, 1940), exact, one-sided, at 1 %.
std::optional<TwoSpeeds> two_speeds(std::span<const double> samples);

}  // namespace occbench::statistics
