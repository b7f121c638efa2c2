// SPDX-License-Identifier: Apache-2.0
// Family `tensor_core`: code that the mma.sync and wgmma variants share.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "kernels/family.cuh"

namespace occbench::tensor_core {

constexpr int classes = 8;  // warps (mma) or blocks (wgmma) with the same index modulo this compute the same

/// Rounds finite x to bf16, ties to even.
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

/// Tolerance of a float32 sum of so many products below 1: each rounding error is under 2^-23 of a running
/// sum far below their number. A missing product is off by about 0.3.
inline double tolerance(double products) { return 4e-6 * products; }

/// A variant's common parts: periodic outputs with their reference, and FLOPs per block and iteration.
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
