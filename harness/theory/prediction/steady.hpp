// SPDX-License-Identifier: Apache-2.0
// What so many units of work take when only the first of them are simulated: rounds of blocks, or trips of a
// loop.
#pragma once

#include <functional>

namespace occbench::theory {

/// A pace counts as steady when what is not simulated would take no more than this share longer or shorter
/// by the pace before it.
constexpr double steady_within = 0.02;

struct Steady {
  double cycles = 0;
  double error = 0;  ///< cycles by which the last two paces differ, over what is not simulated
};

/// What `total` units take. `simulated(n)` says what n take, from the first start to the last end. It is
/// asked for `first` and twice as many, and then for twice as many again, until the pace is steady, all are
/// simulated, or more than `most` would have to be. Its last call is the longest.
Steady steady(const std::function<double(double)>& simulated, double first, double total, double most);

}  // namespace occbench::theory
