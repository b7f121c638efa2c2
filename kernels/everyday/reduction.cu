// SPDX-License-Identifier: Apache-2.0
// Shows: the sum of a row, as in softmax and normalization: loads, then shuffles and two barriers.
// Expected: DRAM bandwidth once enough bytes are in flight, with more warps than a plain read: while a block
//   sums up, only other blocks load. Small blocks overlap better; more bytes per thread amortise the sum.
// Published: Harris, 'Optimizing Parallel Reduction in CUDA' (NVIDIA 2007); the curve:
// Volkov 2010.
#include <type_traits>

#include "kernels/family.cuh"

namespace occbench::reduction {

struct Parameters {
  const float* input;  ///< row-major
  float* output;       ///< one per block
  int iterations;
};

/// Sums `value` over groups of `lanes` adjacent lanes; all of them get the sum.
template <int lanes>
__device__ __forceinline__ float sum_of(float value) {
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xFFFFFFFF, value, distance);
  return value;
}

/// Block b of n sums rows b, b + n, b + 2n, ..., each of `threads` x `ilp` accesses of `lanes` elements. A
/// block outputs the sum of the rows' squared sums, so all threads need a row's sum before they start the
/// next row, as in a norm.
template <int threads, int lanes, int ilp>
struct Body {
  using Parameters = reduction::Parameters;
  using Pack = std::conditional_t<lanes == 4, float4, float>;
  static_assert(sizeof(Pack) == sizeof(float) * lanes);

  static __device__ float sum_of_pack(float x) { return x; }
  static __device__ float sum_of_pack(float4 x) { return (x.x + x.y) + (x.z + x.w); }

  static __device__ void run(const Parameters& p) {
    constexpr int warps = threads / 32;
    __shared__ float partial[warps];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t step = std::int64_t{gridDim.x} * threads * ilp;
    const auto* row =
        reinterpret_cast<const Pack*>(p.input) + std::int64_t{blockIdx.x} * threads * ilp + threadIdx.x;
    float squares = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, row += step) {
      Pack x[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) x[j] = row[j * threads];
      float sum = sum_of_pack(x[0]);
#pragma unroll
      for (int j = 1; j < ilp; ++j) sum += sum_of_pack(x[j]);
      sum = sum_of<32>(sum);
      if (lane == 0) partial[warp] = sum;
      __syncthreads();
      sum = sum_of<warps>(partial[lane % warps]);
      __syncthreads();
      squares = fmaf(sum, sum, squares);
    }
    if (threadIdx.x == 0) p.output[blockIdx.x] = squares;
  }
};

namespace {

std::optional<std::string> mismatch(Arena& arena, const Shape& shape, std::size_t row_elements) {
  const auto blocks = static_cast<std::size_t>(shape.grid_size);
  const auto iterations = static_cast<std::size_t>(shape.iterations);
  const auto input = arena.reference_input<float>(iterations * blocks * row_elements);
  return arena.first_mismatch<float>(blocks, 1e-4, [&](std::size_t block) {
    double squares = 0;
    for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
      double sum = 0;
      for (const float x : input.subspan((iteration * blocks + block) * row_elements, row_elements)) sum += x;
      squares += sum * sum;
    }
    return squares;
  });
}

template <int threads, int lanes, int ilp>
void add() {
  constexpr int width = lanes * static_cast<int>(sizeof(float));
  constexpr int warps = threads / 32;
  constexpr int shuffles = 5 + (warps == 4 ? 2 : warps == 8 ? 3 : 4);
  static_assert(warps == 4 || warps == 8 || warps == 16);
  constexpr std::size_t row_bytes = std::size_t{threads} * width * ilp;
  add_variant({
      .family = "reduction",
      .name = "row" + std::to_string(threads) + "-" + std::to_string(width) + "B-ilp" + std::to_string(ilp),
      .dials = {.ilp = ilp, .bytes_per_access = width},
      .ceiling = Ceiling::dram,
      // additions, shuffles, a shared-memory round trip, two barriers
      .iteration = {.dram_bytes = double(width) * ilp,
                    .latency_cycles = 4.0 * lanes * ilp + 28.0 * shuffles + 100.0,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = shuffles + 2.0},
      .instructions = {{"LDG." + std::to_string(8 * width), ilp},
                       {"FADD", lanes * ilp - 1 + shuffles},
                       {"STS.32", 1},
                       {"LDS.32", 1},
                       {"FFMA", 1},
                       {"BAR", 2}},
      .fixed_block_size = threads,
      .l2_before = L2::clean,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.input_bytes() / row_bytes) / shape.grid_size;
          },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            const auto blocks = static_cast<double>(shape.grid_size);
            return problem_of(
                arena,
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)},
                {.bytes = blocks * (static_cast<double>(shape.iterations) * row_bytes + sizeof(float))},
                static_cast<std::size_t>(shape.grid_size) * sizeof(float),
                [=, &arena] { return mismatch(arena, shape, row_bytes / sizeof(float)); });
          },
      .entry = reinterpret_cast<const void*>(free_entry<Body<threads, lanes, ilp>>),
  });
}

const Registration registered{[] {
  for_each_value<128, 256, 512>([]<int threads>(std::integral_constant<int, threads>) {
    for_each_value<1, 2, 4>([]<int ilp>(std::integral_constant<int, ilp>) {
      add<threads, 1, ilp>();
      add<threads, 4, ilp>();
    });
  });
}};

}  // namespace

}  // namespace occbench::reduction
