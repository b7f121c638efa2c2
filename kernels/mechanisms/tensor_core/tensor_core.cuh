// SPDX-License-Identifier: Apache-2.0
// Family `tensor_core`: what its variants share, by mma.sync and by wgmma.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "kernels/family.cuh"

namespace occbench::tensor_core {

constexpr int classes = 8;  // warps (mma) or blocks (wgmma) with the same index modulo this do the same sums

/// The bf16 nearest to x, ties to even; x is finite.
__host__ __device__ inline std::uint16_t bf16(float x) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline double rounded(float x) {
  const std::uint32_t bits = std::uint32_t{bf16(x)} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A float32 sum of so many products below 1: each rounding is under 2^-23 of a running sum that stays far
/// below their number. One product too few or too many would stray by about 0.3.
inline double tolerance(double products) { return 4e-6 * products; }

/// What all variants share: outputs that repeat with the reference, and flop that are counted per block and
/// iteration.
inline Problem problem_of(Arena& arena, const Shape& shape, std::size_t outputs, double flop_per_block,
                          double products, std::function<std::vector<double>()> reference) {
  Problem problem;
  problem.work = {.bytes = static_cast<double>(outputs) * sizeof(float),
                  .flop = double(shape.grid_size) * static_cast<double>(shape.iterations) * flop_per_block};
  problem.poison = [=, &arena] { arena.poison_output(outputs * sizeof(float)); };
  problem.mismatch = [=, &arena] {
    const std::vector<double> sums = reference();
    return arena.first_mismatch<float>(outputs, tolerance(products),
                                       [&](std::size_t i) { return sums[i % sums.size()]; });
  };
  return problem;
}

}  // namespace occbench::tensor_core
