// SPDX-License-Identifier: Apache-2.0
// Medians of launches, and how one differs from another.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

constexpr std::size_t least = statistics::min_samples();  // launches of a median that has an interval

/// A change of the time relative to something, with its 95 % interval: 0.05 is 5 % more.
struct Change {
  double value = 0, low = 0, high = 0;
};

struct Median {
  double value = 0, error = 0;  ///< the error: half the 95 % interval, relative
};
/// nullopt: too few, or no time at all.
[[nodiscard]] std::optional<Median> median_of(const std::vector<double>& times_us);

/// `now` against `before`, medians with relative errors; both are above 0.
[[nodiscard]] Change change_of(const Median& now, const Median& before);

}  // namespace occbench::attach
