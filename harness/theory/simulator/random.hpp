// SPDX-License-Identifier: Apache-2.0
// Random numbers, the same in every run.
#pragma once

#include <cstdint>

namespace occbench::theory {

/// SplitMix64 (Steele et al. 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed = 1) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Approximately normal: mean 0, standard deviation 1, the sum of four uniforms.
  double normal() { return (uniform() + uniform() + uniform() + uniform() - 2) * 1.7320508; }

 private:
  std::uint64_t state_;
};

}  // namespace occbench::theory
