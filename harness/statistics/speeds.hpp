// SPDX-License-Identifier: Apache-2.0
// Kernels of two speeds: no median stands for launches that are either fast or slow.
#pragma once

#include <optional>
#include <span>

namespace occbench::statistics {

/// Launches that fall into a fast group and a slow one, with nothing between.
struct TwoSpeeds {
  double fast = 0;  ///< median of each group, in the unit of the samples
  double slow = 0;
  double slow_share = 0;   ///< of the samples
  bool in_spells = false;  ///< launches of one speed follow one another more often than by chance
};

/// The two groups of `samples`, in the order in which they were taken; nullopt where they are of one speed,
/// or too few to tell (12).
///
/// The cut is that of two means (least squares; Fisher, JASA 53, 1958). It counts where the means lie six
/// standard deviations of their groups apart, an empty gap of three lies between, both groups have three
/// samples and 15 % of them, and their medians differ by 1 %. tests/speeds_test.cpp simulates how often one
/// speed is taken for two, and how often two are found. `in_spells`: the runs test of Wald and Wolfowitz
/// (Ann. Math. Stat. 11, 1940), exact, one-sided, at 1 %.
std::optional<TwoSpeeds> two_speeds(std::span<const double> samples);

}  // namespace occbench::statistics
