// SPDX-License-Identifier: Apache-2.0
// Bisection over integers: a cliff is the partition point of a monotone dial.
#pragma once

namespace occbench::theory {

/// The smallest value in [low, high) for which `predicate` holds, or `high`. The predicate must be monotone:
/// once true, it stays true.
template <typename Integer, typename Predicate>
Integer first_true(Integer low, Integer high, Predicate predicate) {
  while (low < high) {
    const Integer middle = low + (high - low) / 2;
    if (predicate(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace occbench::theory
