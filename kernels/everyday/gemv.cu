// SPDX-License-Identifier: Apache-2.0
// Shows: matrix-vector product, as in LLM decoding: a streamed matrix and a reused vector.
// Expected: DRAM bandwidth once enough bytes of the matrix are in flight, by warps, loads per thread or
//   access width alike. With narrow loads the vector doubles the L1 traffic, so the last per cents need more
//   warps.
// Published: Bell and Garland, SC 2009 (a warp per row); the curve: Volkov 2010 and 2016, ch. 4.
#include <type_traits>

#include "kernels/family.cuh"

namespace occbench::gemv {

constexpr int columns = 4096;  // the vector takes 16 KiB of the L1
constexpr std::size_t row_bytes = columns * sizeof(float);

struct Parameters {
  const float* vector;
  const float* matrix;  ///< row-major
  float* output;        ///< one per row
  int iterations;
};

/// Warp w of n computes rows w, w + n, w + 2n, ..., one per iteration, with `ilp` accesses of `lanes`
/// elements per thread and trip.
template <int lanes, int ilp>
struct Body {
  using Parameters = gemv::Parameters;
  using Pack = std::conditional_t<lanes == 4, float4, float>;
  static_assert(sizeof(Pack) == sizeof(float) * lanes);
  static constexpr int trips = columns / (32 * lanes * ilp);

  static __device__ float dot(float a, float x, float sum) { return fmaf(a, x, sum); }
  static __device__ float dot(float4 a, float4 x, float sum) {
    return fmaf(a.w, x.w, fmaf(a.z, x.z, fmaf(a.y, x.y, fmaf(a.x, x.x, sum))));
  }

  static __device__ void run(const Parameters& p) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t warps = device::thread_count() / 32;
    std::int64_t row = device::thread_index() / 32;
    const auto* const vector = reinterpret_cast<const Pack*>(p.vector) + lane;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, row += warps) {
      const auto* const of_row = reinterpret_cast<const Pack*>(p.matrix + row * columns) + lane;
      float partial[ilp] = {};
#pragma unroll 1
      for (int trip = 0; trip < trips; ++trip) {
        Pack a[ilp], x[ilp];
#pragma unroll
        for (int j = 0; j < ilp; ++j) a[j] = of_row[(trip * ilp + j) * 32];
        // Free, but nvcc does not move loads across it. Without it nvcc 13 interleaves products and loads to
        // use 32 registers, which leaves one load in flight instead of `ilp`.
        __syncwarp();
#pragma unroll
        for (int j = 0; j < ilp; ++j) x[j] = vector[(trip * ilp + j) * 32];
#pragma unroll
        for (int j = 0; j < ilp; ++j) partial[j] = dot(a[j], x[j], partial[j]);
      }
      float sum = partial[0];
#pragma unroll
      for (int j = 1; j < ilp; ++j) sum += partial[j];
#pragma unroll
      for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, apart);
      if (lane == 0) p.output[row] = sum;
    }
  }
};

namespace {

/// Matrix rows of a launch.
std::size_t rows_of(const Shape& shape) {
  return static_cast<std::size_t>(shape.threads() / 32 * shape.iterations);
}

std::optional<std::string> mismatch(Arena& arena, const Shape& shape) {
  const std::size_t rows = rows_of(shape);
  constexpr RandomInput<float> input;  // the vector, then the matrix
  const auto vector = arena.reference_input<float>(columns);
  return arena.first_mismatch<float>(rows, 1e-4, [&](std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += double{input[(1 + row) * columns + i]} * vector[i];
    return sum;
  });
}

template <int block, int lanes, int ilp>
void add() {
  constexpr int width = lanes * static_cast<int>(sizeof(float));
  constexpr double trips = Body<lanes, ilp>::trips;
  constexpr double bytes_per_iteration = double{row_bytes} / 32;  // of the matrix, and the same of the vector
  add_variant({
      .family = "gemv",
      .name = "block" + std::to_string(block) + "-" + std::to_string(width) + "B-ilp" + std::to_string(ilp),
      .dials = {.ilp = ilp, .bytes_per_access = width, .working_set_bytes = row_bytes},
      .ceiling = Ceiling::dram,
      // products after each trip's loads, then the sum over the warp
      .iteration = {.dram_bytes = bytes_per_iteration,
                    .flop = 2.0 * columns / 32,
                    .latency_cycles = trips * (20.0 + 4.0 * lanes * ilp) + 5 * 28.0,
                    .dram_waits = trips,
                    .pipe_cycles_per_warp = trips * 2.0 * lanes * ilp},
      // all blocks share the vector, which hits the L1 from the second row on
      .flow = {.reused_bytes = bytes_per_iteration, .layout = {.apart = true}},
      .instructions = {{"LDG." + std::to_string(8 * width), 2 * ilp}, {"FFMA", lanes * ilp}},
      .loop_trips = {1, trips},
      .fixed_block_size = block,
      .l2_before = L2::clean,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.input_bytes() / row_bytes - 1) / (shape.threads() / 32);
          },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            const float* const input = arena.input<float>();
            const auto rows = static_cast<double>(rows_of(shape));
            Problem problem = problem_of(
                arena,
                Parameters{.vector = input,
                           .matrix = input + columns,
                           .output = arena.output<float>(),
                           .iterations = static_cast<int>(shape.iterations)},
                {.bytes = row_bytes + rows * (row_bytes + sizeof(float)), .flop = rows * 2 * columns},
                rows_of(shape) * sizeof(float), [=, &arena] { return mismatch(arena, shape); });
            problem.reference_covers_timed = true;
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Body<lanes, ilp>>),
  });
}

const Registration registered{[] {
  for_each_value<128, 256>([]<int block>(std::integral_constant<int, block>) {
    for_each_value<1, 2, 4>([]<int ilp>(std::integral_constant<int, ilp>) {
      add<block, 1, ilp>();
      add<block, 4, ilp>();
    });
  });
}};

}  // namespace

}  // namespace occbench::gemv
