// SPDX-License-Identifier: Apache-2.0
// Noise for tests of statistics.
#pragma once

#include <random>

namespace occbench {

using Random = std::mt19937_64;

inline double normal(Random& random, double sigma = 1) {
  return std::normal_distribution<double>(0, sigma)(random);
}
inline bool happens(Random& random, double share) { return std::bernoulli_distribution(share)(random); }

}  // namespace occbench
