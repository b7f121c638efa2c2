// SPDX-License-Identifier: Apache-2.0
// Steps in a noisy curve, found without theory.
//
// A step is a difference between neighbours that the curve's slopes on both sides do not explain.
// Saturation, a knee and a straight line have none: there each difference lies between those before and
// behind it. Single outliers are no steps either: a step stays.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace occbench::findings {

/// Fewest points on either side of a step, as two cannot outvote an outlier, and of a curve.
constexpr std::size_t least_side = 3;
constexpr std::size_t min_points_for_steps = 2 * least_side + 2;

/// Between the points `place` and place + 1; heights in natural logarithms of y.
struct Step {
  std::size_t place = 0;
  double height = 0;
  double half_width = 0;  ///< of its 95 % interval
  double p_value = 0;     ///< of such a step anywhere in the curve by noise alone
};

/// Steps of at least `smallest` (fraction) in y > 0 over rising x, in their order. `noise`: a lower bound on
/// the standard deviation of y (fraction). `known`: places of known steps: not returned, they bound the
/// pieces that are searched.
std::vector<Step> find_steps(std::vector<double> x, std::vector<double> y, double smallest, double noise,
                             const std::set<std::size_t>& known = {});

}  // namespace occbench::findings
