// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/extrapolate.hpp"

#include <cmath>

namespace occbench::theory {

/// The first units include start-up cost and the filling of caches and queues, so the first estimate is never
/// extrapolated: it is only compared with the next.
Extrapolation extrapolate(const std::function<double(double)>& simulate, double first, double total,
                          double max_units) {
  double units = first;
  if (total <= 2 * units) return {simulate(total), 0};
  double cycles = simulate(units);
  double cycles_per_unit = cycles / units;
  while (true) {
    const double doubled = simulate(2 * units);
    const double latest = (doubled - cycles) / units;
    units *= 2;
    cycles = doubled;
    const double rest = total - units;
    const Extrapolation result{cycles + latest * rest, std::abs(latest - cycles_per_unit) * rest};
    if (result.error_cycles <= steady_tolerance * result.cycles || 2 * units > max_units) return result;
    if (total <= 2 * units) return {simulate(total), 0};
    cycles_per_unit = latest;
  }
}

}  // namespace occbench::theory
