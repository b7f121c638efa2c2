// SPDX-License-Identifier: Apache-2.0
// Extrapolates the cycles of many units of work (waves, trips of a loop) from the first of them.
#pragma once

#include <functional>

namespace occbench::theory {

/// Cycles per unit are steady if their last two estimates, applied to all units that are not simulated,
/// differ by at most this share of the total.
constexpr double steady_tolerance = 0.02;

struct Extrapolation {
  double cycles = 0;
  double error_cycles = 0;  ///< difference of the last two estimates over the units not simulated
};

/// Cycles of `total` units. `simulate(n)` returns the cycles of n units, from first start to last end. It is
/// called for `first` units, then for twice as many each time, until cycles per unit are steady, all units
/// are simulated, or the next call would exceed `max_units`. The last call is the longest.
Extrapolation extrapolate(const std::function<double(double)>& simulate, double first, double total,
                          double max_units);

}  // namespace occbench::theory
