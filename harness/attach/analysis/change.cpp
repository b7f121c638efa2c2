// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/change.hpp"

#include <cmath>

#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

std::optional<Median> median_of(const std::vector<double>& times_us) {
  if (times_us.size() < least) return std::nullopt;
  const auto m = statistics::median_interval(times_us);
  if (m.median <= 0) return std::nullopt;
  return Median{.value = m.median, .error = m.relative_half_width()};
}

Change change_of(const Median& now, const Median& before) {
  const double ratio = now.value / before.value, error = std::hypot(now.error, before.error);
  return {.value = ratio - 1, .low = ratio * (1 - error) - 1, .high = ratio * (1 + error) - 1};
}

}  // namespace occbench::attach
