// SPDX-License-Identifier: Apache-2.0
// Bisection over integers: residency is monotone in every dial, so a cliff is a partition point.
#pragma once

namespace occbench::theory {

/// The least value in [low, high) for which `predicate` holds, and `high` when none does. The predicate
/// must be false up to some value and true from there on.
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
