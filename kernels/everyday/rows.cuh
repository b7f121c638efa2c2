// SPDX-License-Identifier: Apache-2.0
// Rows of a matrix that teams of threads hold in registers, a row an iteration: a warp to a row, or a block
// to a row.
#pragma once

#include <bit>

#include "kernels/family.cuh"

namespace occbench::rows {

/// What `combine` makes of the values of groups of `lanes` neighbours, in each of them.
template <int lanes, class Combine>
__device__ __forceinline__ float over_lanes(float value, Combine combine) {
#pragma unroll
  for (int apart = lanes / 2; apart > 0; apart /= 2)
    value = combine(value, __shfl_xor_sync(0xFFFFFFFF, value, apart));
  return value;
}

/// A thread's share of a row of `row` elements, which a team of `team` threads, a warp or a whole block,
/// holds in accesses of `lanes` elements: team t of n takes rows t, t + n, t + 2n, ..., one an iteration.
template <int team, int row, int lanes>
struct Share {
  static constexpr int loads = row / (team * lanes);  // all under way at once
  static constexpr int elements = loads * lanes;
  static constexpr int warps = team / 32;
  static_assert(team * elements == row);

  struct alignas(sizeof(float) * lanes) Pack {
    float lane[lanes];
  };

  /// Over the threads of the team. `partial` is read again only behind the next call's barrier, with another
  /// `partial`.
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

/// What a variant is made of.
struct Form {
  int team;  ///< threads to a row
  int row;   ///< elements
  int lanes;
  int register_cap = 0;

  [[nodiscard]] int elements() const { return row / team; }
  [[nodiscard]] int loads() const { return elements() / lanes; }
  [[nodiscard]] int width() const { return lanes * static_cast<int>(sizeof(float)); }  // byte
  [[nodiscard]] int warps() const { return team / 32; }
  /// Of one combination over the team: five steps in a warp, and as many as its warps take.
  [[nodiscard]] int shuffles() const { return 5 + std::countr_zero(static_cast<unsigned>(warps())); }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(row) * sizeof(float); }
  [[nodiscard]] std::string series() const {
    return (warps() == 1 ? "warp" : "block" + std::to_string(team)) + "-row" + std::to_string(row) + "-" +
           std::to_string(width()) + "B";
  }
  [[nodiscard]] std::string name() const {
    return series() + (register_cap > 0 ? "-maxnreg" + std::to_string(register_cap) : "");
  }
  [[nodiscard]] Dials dials() const {
    return {.ilp = loads(),
            .bytes_per_access = width(),
            .route = register_cap > 0 ? RegisterRoute::maxnreg : RegisterRoute::free,
            .register_cap = register_cap,
            .tile_width = row};
  }
  [[nodiscard]] int fixed_block_size() const { return warps() > 1 ? team : 0; }
  /// That a launch goes through.
  [[nodiscard]] std::size_t rows(const Shape& shape) const {
    return static_cast<std::size_t>(shape.threads() / team * shape.iterations);
  }
  /// For which there is room for so many bytes of rows.
  [[nodiscard]] std::int64_t max_iterations(std::size_t bytes, const Shape& shape) const {
    return static_cast<std::int64_t>(bytes / row_bytes()) / (shape.threads() / team);
  }
};

}  // namespace occbench::rows
