// SPDX-License-Identifier: Apache-2.0
// Chains of dependent loads: the order in which they visit their elements, and the loops that time them.
#pragma once

#include <cstdint>

#include "harness/device/random.cuh"

namespace occbench {

/// x -> multiplier x + increment. Modulo any power of two it runs through all residues in one cycle, as long
/// as the multiplier is 1 modulo 4 and the increment odd (Hull and Dobell 1962; Knuth 3.2.1.2). It counts
/// modulo that of T: whoever wants a smaller one reduces the result.
template <class T>
struct AffineMap {
  T multiplier;
  T increment;

  OCCBENCH_HOST_DEVICE constexpr T operator()(T x) const { return multiplier * x + increment; }

  /// Where `steps` steps lead to from x: the map's power by repeated squaring.
  [[nodiscard]] constexpr T advance(T x, std::uint64_t steps) const {
    AffineMap power = *this;
    for (; steps > 0; steps >>= 1) {
      if (steps & 1) x = power(x);
      power = {power.multiplier * power.multiplier, power.increment * (power.multiplier + 1)};
    }
    return x;
  }
};

/// Scatters as well as it visits all: the map of Numerical Recipes' 'quick and dirty' generator.
template <class T>
OCCBENCH_HOST_DEVICE constexpr AffineMap<T> scattered() {
  return {1664525, 1013904223};
}

namespace device {

constexpr int chase_unrolled = 8;  // a load that hits the L1 is about as short as the loop's own instructions

/// `steps` dependent loads, each follow(at); returns their cycles. Two innermost loops, of eights and of
/// ones.
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

constexpr int timed_chase_loads = 5;  // of an iteration

/// The second method: each iteration reads the clock around one load, and then around two that depend on each
/// other. Reading it, and waiting for the value, costs the same around one as around two: what the two take
/// longer is one load's latency. A load before and one behind are not timed: the loop's own moves and branch
/// meet those. `cycles` is the sum of one load's over the iterations. The branch on each value makes the
/// clock wait for it. It is never taken, since nothing is at `never`; whoever is told so (false) leaves
/// without a result, which keeps the loop free of moves.
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
