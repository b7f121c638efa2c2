// SPDX-License-Identifier: Apache-2.0
// Shows: matrix times vector, as each step of a language model's decoding does it: a stream, and a vector
//   beside it.
// Expected: DRAM's rate once enough bytes of the matrix are under way, by warps, by loads per thread or by
//   their width alike; with narrow loads the vector's reads double what the L1 has to serve, so that the last
// percents take longer. Published: Bell and Garland, SC 2009 (a warp per row); the curve: Volkov 2010 and
// 2016, ch. 4.
#include <type_traits>

#include "kernels/family.cuh"

namespace occbench::gemv {

constexpr int columns = 4096;  // of the matrix: the vector takes 16 KiB of the L1
constexpr std::size_t row_bytes = columns * sizeof(float);

struct Parameters {
  const float* vector;
  const float* matrix;  ///< row after row
  float* output;        ///< one per row
  int iterations;
};

/// Warp w of n takes rows w, w + n, w + 2n, ..., one an iteration, each trip `ilp` accesses of `lanes`
/// elements per thread.
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
        // costs nothing, but no load passes it: left to itself nvcc 13 puts products between the loads, to do
        // with 32 registers, and so has one load under way where `ilp` are meant
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

/// Rows of the matrix that a launch multiplies.
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
  constexpr double bytes_per_iteration = double{row_bytes} / 32;  // of the matrix, and as many of the vector
  add_variant({
      .family = "gemv",
      .name = "block" + std::to_string(block) + "-" + std::to_string(width) + "B-ilp" + std::to_string(ilp),
      .dials = {.ilp = ilp, .bytes_per_access = width, .working_set_bytes = row_bytes},
      .ceiling = Ceiling::dram,
      // products behind each trip's loads, and the sum over the warp behind them all
      .iteration = {.dram_bytes = bytes_per_iteration,
                    .flop = 2.0 * columns / 32,
                    .latency_cycles = trips * (20.0 + 4.0 * lanes * ilp) + 5 * 28.0,
                    .dram_waits = trips,
                    .pipe_cycles_per_warp = trips * 2.0 * lanes * ilp},
      // the vector is everybody's, and the L1's from the second row on
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
            Problem problem;
            problem.set_parameters(Parameters{.vector = input,
                                              .matrix = input + columns,
                                              .output = arena.output<float>(),
                                              .iterations = static_cast<int>(shape.iterations)});
            const auto rows = static_cast<double>(rows_of(shape));
            problem.work = {.bytes = row_bytes + rows * (row_bytes + sizeof(float)),
                            .flop = rows * 2 * columns};
            const std::size_t bytes = rows_of(shape) * sizeof(float);
            problem.poison = [=, &arena] { arena.poison_output(bytes); };
            problem.reference_reaches = true;
            problem.mismatch = [=, &arena] { return mismatch(arena, shape); };
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
