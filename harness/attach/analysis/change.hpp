// SPDX-License-Identifier: Apache-2.0
// Medians of launches, and the change from one to another.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

constexpr std::size_t least = statistics::min_samples();  // fewest launches whose median has an interval

/// A relative change of the time, with its 95 % interval: 0.05 is 5 % more.
struct Change {
  double value = 0, low = 0, high = 0;
};

struct Median {
  double value = 0, error = 0;  ///< error: half the 95 % interval, relative
};
/// nullopt if there are too few launches, or their time is 0.
[[nodiscard]] std::optional<Median> median_of(const std::vector<double>& times_us);

/// `now` relative to `before`: medians above 0 with relative errors.
[[nodiscard]] Change change_of(const Median& now, const Median& before);

}  // namespace occbench::attach
