// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/steady.hpp"

#include <cmath>

namespace occbench::theory {

/// The first pace of all is that from the launch's begin on. What starting costs makes it slower, and what
/// the machine takes in before it has to wait makes it faster: neither passes for the pace behind it.
Steady steady(const std::function<double(double)>& simulated, double first, double total, double most) {
  double units = first;
  if (total <= 2 * units) return {simulated(total), 0};
  double cycles = simulated(units);
  double pace = cycles / units;
  while (true) {
    const double more = simulated(2 * units);
    const double next = (more - cycles) / units;
    units *= 2;
    cycles = more;
    const double rest = total - units;
    const Steady result{cycles + next * rest, std::abs(next - pace) * rest};
    if (result.error <= steady_within * result.cycles || 2 * units > most) return result;
    if (total <= 2 * units) return {simulated(total), 0};
    pace = next;
  }
}

}  // namespace occbench::theory
