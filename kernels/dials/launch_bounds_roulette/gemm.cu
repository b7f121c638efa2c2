// SPDX-License-Identifier: Apache-2.0
// Shows: the inner loop of a matrix product under every register dial: all sums are used in every step.
// Found: H200: from 80 % of the FP32 peak to 1.4 % at 32 registers.
// Published: Volkov and Demmel, 'Benchmarking GPUs to tune dense linear algebra' (SC 2008).
#include "kernels/dials/launch_bounds_roulette/launch_bounds_roulette.cuh"

namespace occbench::launch_bounds_roulette {

/// The inner loop of a matrix product: `side` x `side` sums per thread, operands in shared memory. A block's
/// tile is threads / 2 x 128; each iteration adds the product of its two panels, `depth` deep, again.
template <int threads>
struct Gemm {
  using Parameters = Arguments<float>;
  static constexpr int side = 8;
  static constexpr int depth = 8;
  static constexpr int rows = threads / 2;
  static constexpr int columns = 128;
  static constexpr int panel = (rows + columns) * depth;  // elements of both operands
  static constexpr int sums = side * side;
  // Blocks with the same index modulo this multiply the same panels.
  static constexpr int period = 4096 / threads;

  /// The tile row or column of the thread's i-th: two groups of four, so that the lanes of a warp (4 x 8)
  /// read adjacent 16-byte words.
  static __host__ __device__ constexpr int row_of(int thread, int i) {
    return thread / 64 * 32 + i / 4 * 16 + thread % 32 / 8 * 4 + i % 4;
  }
  static __host__ __device__ constexpr int column_of(int thread, int i) {
    return thread / 32 % 2 * 64 + i / 4 * 32 + thread % 8 * 4 + i % 4;
  }

  static __device__ void run(const Parameters& p) {
    __shared__ __align__(16) float a[depth * rows];
    __shared__ __align__(16) float b[depth * columns];
    const int t = static_cast<int>(threadIdx.x);
    const float* const input = p.input + static_cast<int>(blockIdx.x) % period * panel;
#pragma unroll
    for (int i = 0; i < depth * rows; i += threads) a[i + t] = input[i + t];
#pragma unroll
    for (int i = 0; i < depth * columns; i += threads) b[i + t] = input[depth * rows + i + t];
    __syncthreads();
    float sum[side][side] = {};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      asm volatile("" ::: "memory");  // to the compiler, the panels change
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        float va[side];
        float vb[side];
#pragma unroll
        for (int i = 0; i < side; i += 4) {
          *reinterpret_cast<float4*>(va + i) = *reinterpret_cast<const float4*>(&a[k * rows + row_of(t, i)]);
          *reinterpret_cast<float4*>(vb + i) =
              *reinterpret_cast<const float4*>(&b[k * columns + column_of(t, i)]);
        }
#pragma unroll
        for (int i = 0; i < side; ++i) {
#pragma unroll
          for (int j = 0; j < side; ++j) sum[i][j] = fmaf(va[i], vb[j], sum[i][j]);
        }
      }
    }
    // Tile by tile, with the threads' 16-byte words adjacent; the layout of C is arbitrary.
    float* const output = p.output + std::int64_t{blockIdx.x} * (threads * sums) + t * 4;
#pragma unroll
    for (int i = 0; i < side; ++i) {
#pragma unroll
      for (int j = 0; j < side; j += 4)
        *reinterpret_cast<float4*>(output + (i * side + j) * threads) =
            *reinterpret_cast<const float4*>(&sum[i][j]);
    }
  }
};

namespace {

struct GemmKernel {
  template <int threads>
  using Body = Gemm<threads>;
  static constexpr int touches = 11;

  /// The sums of one iteration for the blocks of one period, in output order.
  template <int threads>
  static std::vector<double> reference(Arena& arena) {
    using B = Gemm<threads>;
    const auto input = arena.reference_input<float>(std::size_t{B::period} * B::panel);
    std::vector<double> sums(std::size_t{B::period} * threads * B::sums);
    auto sum = sums.begin();
    for (int block = 0; block < B::period; ++block) {
      const float* const a = &input[static_cast<std::size_t>(block) * B::panel];
      const float* const b = a + B::depth * B::rows;
      for (int quad = 0; quad < B::sums / 4; ++quad)
        for (int t = 0; t < threads; ++t)
          for (int lane = 0; lane < 4; ++lane, ++sum)
            for (int k = 0; k < B::depth; ++k)
              *sum += double{a[k * B::rows + B::row_of(t, quad / 2)]} *
                      b[k * B::columns + B::column_of(t, quad % 2 * 4 + lane)];
    }
    return sums;
  }

  template <int threads>
  static Variant describe() {
    using B = Gemm<threads>;
    return {
        .series = "gemm",
        .dials = {.ilp = B::sums, .live_values = B::sums + 2 * B::side},
        .ceiling = Ceiling::fp32,
        .iteration = {.flop = 2.0 * B::depth * B::sums,
                      .latency_cycles = 1.1 * B::depth * B::sums,
                      .pipe_cycles_per_warp = B::depth * 4 * 4.0},

        .instructions = {{"FFMA", B::depth * B::sums}, {"LDS.128", B::depth * 2 * B::side / 4}},
        .fixed_block_size = threads,
        .l2_before = L2::warm,
        .max_iterations =
            [](const Arena& arena, const Shape& shape) {
              const auto most = static_cast<std::int64_t>(arena.output_bytes() / (B::sums * sizeof(float)));
              return 2 * shape.threads() <= most ? std::int64_t{1} << 30 : 0;  // twice, for the census
            },
        .prepare =
            [](Arena& arena, const Shape& shape) {
              Problem problem;
              problem.set_parameters(arguments<float>(arena, shape.iterations));
              const auto elements = static_cast<std::size_t>(shape.threads() * B::sums);
              problem.work = {.bytes = static_cast<double>(elements) * sizeof(float),
                              .flop = 2.0 * B::depth * static_cast<double>(elements) *
                                      static_cast<double>(shape.iterations)};
              problem.poison = [&arena, elements] { arena.poison_output(elements * sizeof(float)); };
              problem.mismatch = [&arena, elements, iterations = static_cast<double>(shape.iterations)] {
                const auto sums = reference<threads>(arena);
                return arena.first_mismatch<float>(
                    elements, 1e-5, [&](std::size_t i) { return iterations * sums[i % sums.size()]; });
              };
              return problem;
            },
    };
  }
};

const Registration registered{define<GemmKernel, compiled_register_cap, 3, 4, 8>};

}  // namespace

}  // namespace occbench::launch_bounds_roulette
