// SPDX-License-Identifier: Apache-2.0
// Chains of dependent loads: the order of their elements, and the loops that time them.
#pragma once

#include <cstdint>

#include "harness/device/random.cuh"

namespace occbench {

/// x -> multiplier x + increment, modulo the range of T; reduce the result for a smaller power of two. One
/// cycle through all residues if the multiplier is 1 modulo 4 and the increment odd (Hull and Dobell 1962;
/// Knuth 3.2.1.2).
template <class T>
struct AffineMap {
  T multiplier;
  T increment;

  OCCBENCH_HOST_DEVICE constexpr T operator()(T x) const { return multiplier * x + increment; }

  /// The element `steps` steps after x, by repeated squaring.
  [[nodiscard]] constexpr T advance(T x, std::uint64_t steps) const {
    AffineMap power = *this;
    for (; steps > 0; steps >>= 1) {
      if (steps & 1) x = power(x);
      power = {power.multiplier * power.multiplier, power.increment * (power.multiplier + 1)};
    }
    return x;
  }
};

/// The map of Numerical Recipes' 'quick and dirty' generator, which scatters well.
template <class T>
OCCBENCH_HOST_DEVICE constexpr AffineMap<T> scattered() {
  return {1664525, 1013904223};
}

namespace device {

constexpr int chase_unrolled = 8;  // an L1 hit takes about as long as the loop's own instructions

/// Runs `steps` dependent loads, each follow(at); returns their cycles. Two innermost loops, of eight loads
/// and of one.
template <class Pointer, class Follow>
__device__ __forceinline__ long long chase(Pointer& at, int steps, Follow follow) {
  const long long began = clock64();
  int step = 0;
#pragma unroll 1
  for (; step + chase_unrolled <= steps; step += chase_unrolled) {
#pragma unroll
    for (int i = 0; i < chase_unrolled; ++i) follow(at);
  }
#pragma unroll 1
  for (; step < steps; ++step) follow(at);
  return clock64() - began;
}

constexpr int timed_chase_loads = 5;  // per iteration

/// The second method: each iteration reads the clock around one load, and then around two dependent loads.
/// The overhead is the same, so the difference is the latency of one load. One load before and one after are
/// not timed: they absorb the loop's own moves and branch. `cycles`: sum over the iterations of that
/// difference. A branch on each value makes the clock wait for it; it is never taken, since no element
/// equals `never`. If it were, the function returns false without a result, which keeps the loop free of
/// moves.
template <class Pointer, class Follow>
__device__ __forceinline__ bool timed_chase(Pointer& at, int iterations, Pointer never, Follow follow,
                                            long long& cycles) {
  cycles = 0;
#pragma unroll 1
  for (int iteration = 0; iteration < iterations; ++iteration) {
    follow(at);
    if (at == never) return false;
    const long long before_one = clock64();
    follow(at);
    if (at == never) return false;
    const long long before_two = clock64();
    follow(at);
    follow(at);
    if (at == never) return false;
    const long long after_two = clock64();
    follow(at);
    cycles += (after_two - before_two) - (before_two - before_one);
  }
  return true;
}

}  // namespace device

}  // namespace occbench
