// SPDX-License-Identifier: Apache-2.0
// Shows: mma.sync with operands in registers: the accumulators per warp, or the warps, that saturate the
//   tensor cores.
// Expected: saturates at about 60 % of the cc 9.0 peak, by warps or by accumulators alike.
// Found: H200: saturates at 61-65 %; with 2 accumulators 12 warps (48 %) are slower than 8 (61 %).
// Published: Luo et al., 'Benchmarking and dissecting the NVIDIA Hopper GPU' (2024); PTX ISA, 'Warp-level
//   matrix fragments', for the layout.
#include "kernels/mechanisms/tensor_core/tensor_core.cuh"

namespace occbench::tensor_core {

constexpr int mma_per_iteration = 64;
constexpr int fragments = 2;  // of A, and of B, in registers

struct Registers {
  const float* input;
  float* output;  ///< [warp][accumulator tile][16][8]
  int iterations;
};

/// Input indices of element (row, k) of A's fragment, (k, column) of B's, and (row, column) of an
/// accumulator's start value.
__host__ __device__ constexpr int a_at(int c, int fragment, int row, int k) {
  return c * 1024 + fragment * 256 + row * 16 + k;
}
__host__ __device__ constexpr int b_at(int c, int fragment, int k, int column) {
  return c * 1024 + 512 + fragment * 128 + column * 16 + k;
}
__host__ __device__ constexpr int start_at(int c, int tile, int row, int column) {
  return classes * 1024 + (c * 16 + tile) * 128 + row * 8 + column;
}
/// The signs of B that an iteration flips: of even k in bit 15, of odd k in bit 31.
__host__ __device__ constexpr std::uint32_t sign_flips(int iteration) {
  return mix(static_cast<std::uint32_t>(iteration)) & 0x80008000U;
}

/// Each warp has `tiles` independent 16 x 8 accumulators; an iteration adds each product of a fragment of A
/// and of B equally often.
template <int tiles>
struct Mma {
  using Parameters = Registers;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 800
    const std::int64_t warp = device::thread_index() / 32;
    const int c = static_cast<int>(warp % classes);
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;  // of C; k of A and B
    const auto pack = [&](int at) {
      return std::uint32_t{bf16(p.input[at])} | std::uint32_t{bf16(p.input[at + 1])} << 16;
    };
    std::uint32_t a[fragments][4];
    std::uint32_t b[fragments][2];
    float d[tiles][4];
#pragma unroll
    for (int f = 0; f < fragments; ++f) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[f][i] = pack(a_at(c, f, row + i % 2 * 8, column + i / 2 * 8));
#pragma unroll
      for (int i = 0; i < 2; ++i) b[f][i] = pack(b_at(c, f, column + i * 8, row));
    }
#pragma unroll
    for (int j = 0; j < tiles; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) d[j][i] = p.input[start_at(c, j, row + i / 2 * 8, column + i % 2)];
    }
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const std::uint32_t flips = sign_flips(iteration);
#pragma unroll
      for (int f = 0; f < fragments; ++f) {
        b[f][0] ^= flips;
        b[f][1] ^= flips;
      }
#pragma unroll
      for (int step = 0; step < mma_per_iteration / tiles; ++step) {
#pragma unroll
        for (int j = 0; j < tiles; ++j) {
          const auto& x = a[(step + j) % 2];
          const auto& y = b[(step / 2 + j / 2) % 2];
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
              "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
              : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
              : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
      }
    }
#pragma unroll
    for (int j = 0; j < tiles; ++j) {
      float* const tile = p.output + (warp * tiles + j) * 128;
      *reinterpret_cast<float2*>(tile + row * 8 + column) = {d[j][0], d[j][1]};
      *reinterpret_cast<float2*>(tile + (row + 8) * 8 + column) = {d[j][2], d[j][3]};
    }
#endif
  }
};

namespace {

std::vector<double> mma_reference(std::span<const float> input, int accumulators, int iterations) {
  double even = 0;  // signed number of additions of each half of k
  double odd = 0;
  std::uint32_t signs = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    signs ^= sign_flips(iteration);
    even += (signs & 0x8000U) != 0 ? -1 : 1;
    odd += (signs & 0x80000000U) != 0 ? -1 : 1;
  }
  const double times = double(mma_per_iteration) / accumulators / (fragments * fragments);
  const auto value = [&](int at) { return rounded(input[static_cast<std::size_t>(at)]); };
  std::vector<double> sums;
  for (int c = 0; c < classes; ++c)
    for (int tile = 0; tile < accumulators; ++tile)
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          double sum = input[static_cast<std::size_t>(start_at(c, tile, row, column))];
          for (int k = 0; k < 16; ++k)
            sum += times * (k % 2 == 0 ? even : odd) *
                   (value(a_at(c, 0, row, k)) + value(a_at(c, 1, row, k))) *
                   (value(b_at(c, 0, k, column)) + value(b_at(c, 1, k, column)));
          sums.push_back(sum);
        }
  return sums;
}

void add_mma(int accumulators, const void* entry) {
  constexpr double flop_per_warp = mma_per_iteration * 2.0 * 16 * 8 * 16;
  Dials dials;
  dials.data_type = "bf16";
  dials.ilp = accumulators;
  add_variant({
      .family = "tensor_core",
      .name = "mma-acc" + std::to_string(accumulators),
      .form = "mma",
      .dials = dials,
      .ceiling = Ceiling::tensor_bf16,
      .iteration = {.flop = flop_per_warp / 32,
                    .latency_cycles = 33.0 * mma_per_iteration / accumulators,
                    .pipe_cycles_per_warp = 1.6 * mma_per_iteration},
      .instructions = {{"HMMA", mma_per_iteration}},
      .min_cc = 80,
      .l2_before = L2::warm,
      .check_iterations = 3,  // odd, so that the signs cannot cancel
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const int iterations = static_cast<int>(shape.iterations);
            const int warps = shape.block_size / 32;
            Problem problem = problem_of(
                arena, shape, static_cast<std::size_t>(shape.grid_size) * warps * accumulators * 128,
                warps * flop_per_warp, double(mma_per_iteration) / accumulators * 16 * iterations,
                [=, &arena] {
                  return mma_reference(arena.reference_input<float>(start_at(classes, 0, 0, 0)), accumulators,
                                       iterations);
                });
            problem.set_parameters(Registers{arena.input<float>(), arena.output<float>(), iterations});
            return problem;
          },
      .entry = entry,
  });
}

const Registration mma_kernels{[] {
  for_each_value<1, 2, 4, 8, 16>([]<int tiles>(std::integral_constant<int, tiles>) {
    add_mma(tiles, reinterpret_cast<const void*>(free_entry<Mma<tiles>>));
  });
}};

}  // namespace

}  // namespace occbench::tensor_core
