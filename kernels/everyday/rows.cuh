// SPDX-License-Identifier: Apache-2.0
// Matrix rows held in registers, one per iteration, by a warp or by a block.
#pragma once

#include <bit>

#include "kernels/family.cuh"

namespace occbench::rows {

/// Reduces `value` with `combine` over groups of `lanes` adjacent lanes; all of them get the result.
template <int lanes, class Combine>
__device__ __forceinline__ float over_lanes(float value, Combine combine) {
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFF, value, distance));
  return value;
}

/// A thread's share of a row of `row` elements that a team of `team` threads (a warp or a block) holds, in
/// accesses of `lanes` elements. Team t of n takes rows t, t + n, t + 2n, ..., one per iteration.
template <int team, int row, int lanes>
struct Share {
  static constexpr int loads = row / (team * lanes);  // all in flight at once
  static constexpr int elements = loads * lanes;
  static constexpr int warps = team / 32;
  static_assert(team * elements == row);

  struct alignas(sizeof(float) * lanes) Pack {
    float lane[lanes];
  };

  /// Reduces over the team. Successive calls need different `partial` arrays: one is still read up to the
  /// next call's barrier.
  template <class Combine>
  static __device__ float over_team(float value, float* partial, Combine combine) {
    value = over_lanes<32>(value, combine);
    if constexpr (warps > 1) {
      const int lane = static_cast<int>(threadIdx.x) % 32;
      if (lane == 0) partial[threadIdx.x / 32] = value;
      __syncthreads();
      value = over_lanes<warps>(partial[lane % warps], combine);
    }
    return value;
  }
};

/// The dials of a variant.
struct Form {
  int team;  ///< threads to a row
  int row;   ///< elements
  int lanes;

  [[nodiscard]] int elements() const { return row / team; }
  [[nodiscard]] int loads() const { return elements() / lanes; }
  [[nodiscard]] int width() const { return lanes * static_cast<int>(sizeof(float)); }  // byte
  [[nodiscard]] int warps() const { return team / 32; }
  /// Per reduction over the team: five in a warp, then log2 of its warps.
  [[nodiscard]] int shuffles() const { return 5 + std::countr_zero(static_cast<unsigned>(warps())); }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(row) * sizeof(float); }
  [[nodiscard]] std::string name() const {
    return (warps() == 1 ? "warp" : "block" + std::to_string(team)) + "-row" + std::to_string(row) + "-" +
           std::to_string(width()) + "B";
  }
  [[nodiscard]] Dials dials() const {
    return {.ilp = loads(), .bytes_per_access = width(), .tile_width = row};
  }
  [[nodiscard]] int fixed_block_size() const { return warps() > 1 ? team : 0; }
  /// Rows of a launch.
  [[nodiscard]] std::size_t rows(const Shape& shape) const {
    return static_cast<std::size_t>(shape.threads() / team * shape.iterations);
  }
  /// Most iterations for `bytes` of rows.
  [[nodiscard]] std::int64_t max_iterations(std::size_t bytes, const Shape& shape) const {
    return static_cast<std::int64_t>(bytes / row_bytes()) / (shape.threads() / team);
  }
};

}  // namespace occbench::rows
