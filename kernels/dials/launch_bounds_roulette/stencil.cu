// SPDX-License-Identifier: Apache-2.0
// Shows: a stencil under every register dial: loads to hide, and a queue of values in registers.
// Found: H200: no cap below need pays (41 % of DRAM bandwidth with 76 registers, 30-38 % with 64, 6 % with
//   40); more registers and fewer warps do (57 % with 96, 20 warps).
// Published: Micikevicius, '3D finite difference computation on GPUs' (2009).
#include "kernels/dials/launch_bounds_roulette/launch_bounds_roulette.cuh"

namespace occbench::launch_bounds_roulette {

/// 25-point star, eighth order in space, marching along z with the column's nine values in a queue. A warp
/// computes a row of 128 points, a thread four of them; adjacent warps have adjacent rows. Planes are
/// `pitch` wide with `reach` extra rows at each edge, so no branches are needed. A plane has a row per warp
/// of the grid, so its size depends on the occupancy, but the work per warp does not and edges are
/// negligible. Planes of fixed size, with warps distributed over z, would cost registers: at a cap of 64,
/// spills per thread grow from 24 to 48 bytes.
struct Stencil {
  using Parameters = Arguments<float>;
  static constexpr int reach = 4;
  static constexpr int points = 4;  // per thread and iteration
  static constexpr int row = 32 * points;
  static constexpr int pitch = row + 2 * reach;

  static __host__ __device__ constexpr std::int64_t plane(std::int64_t threads) {
    return (threads / 32 + 2 * reach) * pitch;
  }
  /// Weight of the neighbours at this distance.
  static __host__ __device__ constexpr float weight(int distance) {
    switch (distance) {
      case 0:
        return -3 * 205.0F / 72;
      case 1:
        return 8.0F / 5;
      case 2:
        return -1.0F / 5;
      case 3:
        return 8.0F / 315;
      default:
        return -1.0F / 560;
    }
  }

  struct alignas(16) Points {
    float at[points];
  };
  static __device__ Points load(const float* from) { return *reinterpret_cast<const Points*>(from); }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const std::int64_t n = device::thread_count();
    const std::int64_t step = plane(n);
    const float* front = p.input + (index / 32 + reach) * pitch + reach + index % 32 * points;
    const float* center = front + reach * step;
    float* output = p.output + index * points;
    Points queue[2 * reach + 1];
#pragma unroll
    for (int z = 0; z < 2 * reach; ++z, front += step) queue[z] = load(front);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      queue[2 * reach] = load(front);
      const Points left = load(center - points);
      const Points right = load(center + points);
      Points below[reach];
      Points above[reach];
#pragma unroll
      for (int d = 0; d < reach; ++d) {
        below[d] = load(center - (d + 1) * pitch);
        above[d] = load(center + (d + 1) * pitch);
      }
      Points sum;
#pragma unroll
      for (int i = 0; i < points; ++i) {
        sum.at[i] = weight(0) * queue[reach].at[i];
#pragma unroll
        for (int d = 1; d <= reach; ++d) {
          const float before = i < d ? left.at[i - d + points] : queue[reach].at[i - d];
          const float after = i + d < points ? queue[reach].at[i + d] : right.at[i + d - points];
          sum.at[i] = fmaf(queue[reach - d].at[i], weight(d), sum.at[i]);
          sum.at[i] = fmaf(before, weight(d), sum.at[i]);
          sum.at[i] = fmaf(after, weight(d), sum.at[i]);
          sum.at[i] = fmaf(below[d - 1].at[i], weight(d), sum.at[i]);
          sum.at[i] = fmaf(above[d - 1].at[i], weight(d), sum.at[i]);
          sum.at[i] = fmaf(queue[reach + d].at[i], weight(d), sum.at[i]);
        }
      }
      *reinterpret_cast<Points*>(output) = sum;
      output += n * points;
      front += step;
      center += step;
#pragma unroll
      for (int z = 0; z < 2 * reach; ++z) queue[z] = queue[z + 1];
    }
  }
};

namespace {

struct StencilKernel {
  template <int threads>
  using Body = Stencil;
  static constexpr int touches = 1;

  template <int threads>
  static Variant describe() {
    constexpr std::size_t written = Stencil::points * sizeof(float);  // per thread and iteration
    constexpr int neighbours = 6 * Stencil::reach;
    return {
        .series = "stencil",
        .dials = {.ilp = Stencil::points, .bytes_per_access = written, .live_values = 80},
        .ceiling = Ceiling::dram,
        .iteration = {.dram_bytes = 2.0 * written,
                      .flop = Stencil::points * (1.0 + 2 * neighbours),
                      .latency_cycles = 300,
                      .dram_waits = 1,
                      .pipe_cycles_per_warp = 4.0 * (3 + 2 * Stencil::reach + 1)},  // L1, 128 bytes per cycle
        // the plane in the middle was loaded `reach` iterations before
        .flow = {.reused_bytes = (2.0 + 2 * Stencil::reach) * written,
                 .neighbour_bytes = 2.0 * Stencil::reach * written,
                 .set_of = Sharer::warp,
                 .set_bytes = (Stencil::reach + 1) * Stencil::pitch * sizeof(float),
                 .layout = {.lines = 2}},  // rows of 544 bytes: 128 bytes of 8 lanes straddle two lines
        .instructions = {{"LDG.128", 3 + 2 * Stencil::reach},
                         {"FMUL", Stencil::points},
                         {"FFMA", Stencil::points * neighbours},
                         {"STG.128", 1}},
        .l2_before = L2::dirty,
        .max_iterations =
            [](const Arena& arena, const Shape& shape) {
              const auto planes = static_cast<std::int64_t>(arena.input_bytes() / sizeof(float)) /
                                  Stencil::plane(shape.threads());
              const auto most = static_cast<std::int64_t>(arena.output_bytes() / written) / shape.threads();
              return std::max<std::int64_t>(0, std::min(most, planes - 2 * Stencil::reach));
            },
        .prepare =
            [](Arena& arena, const Shape& shape) {
              Problem problem;
              problem.set_parameters(arguments<float>(arena, shape.iterations));
              const auto points =
                  static_cast<std::size_t>(shape.threads() * shape.iterations * Stencil::points);
              // Each point is read and written once. Edges (8 of 136 columns, and 8 rows and planes) and
              // cache misses are not counted.
              problem.work = {.bytes = 2.0 * sizeof(float) * static_cast<double>(points),
                              .flop = (1.0 + 2 * neighbours) * static_cast<double>(points)};
              problem.poison = [&arena, points] { arena.poison_output(points * sizeof(float)); };
              problem.reference_covers_timed = true;
              problem.mismatch = [&arena, shape, points] {
                const auto step = static_cast<std::size_t>(Stencil::plane(shape.threads()));
                constexpr RandomInput<float> input;
                const auto plane_points = static_cast<std::size_t>(shape.threads() * Stencil::points);
                return arena.first_mismatch<float>(points, 5e-6, [&](std::size_t i) {
                  const std::size_t z = i / plane_points + Stencil::reach;
                  const std::size_t y = i % plane_points / Stencil::row + Stencil::reach;
                  const std::size_t x = i % Stencil::row + Stencil::reach;
                  const std::size_t at = z * step + y * Stencil::pitch + x;
                  double sum = double{Stencil::weight(0)} * input[at];
                  for (std::size_t d = 1; d <= Stencil::reach; ++d)
                    for (const std::size_t along : {std::size_t{1}, std::size_t{Stencil::pitch}, step})
                      sum += Stencil::weight(static_cast<int>(d)) *
                             (double{input[at + d * along]} + double{input[at - d * along]});
                  return sum;
                });
              };
              return problem;
            },
    };
  }
};

const Registration registered{define<StencilKernel, compiled_register_cap, 4, 5, 8>};

}  // namespace

}  // namespace occbench::launch_bounds_roulette
