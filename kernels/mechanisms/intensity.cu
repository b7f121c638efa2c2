// SPDX-License-Identifier: Apache-2.0
// Shows: the number of warps a kernel needs, from load-only to mostly arithmetic.
// Expected: with many FMAs per load throughput is flat from a quarter to half of the warps on, with few it
//   rises further; the need is largest where arithmetic and memory take equal time, since it is latency x
//   throughput and both are then at their maximum.
// Found: H200: no curve is flat so early (256 FMAs, one load: 58, 66 and 80 % of the FP32 peak at 16, 32 and
//   64 warps); with 32 FMAs and four loads 64 warps reach 69 %.
// Published: Volkov, 'Understanding latency hiding on GPUs' (2016), ch. 4; Williams et al., Roofline (2009).
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::intensity {

// x * turn + x = -0.998 x: alternates in sign, and 0.6 is left after 256 steps. One register and an
// immediate, so operands cannot conflict in a register bank; linear, so the reference is a product.
constexpr float turn = -1.998F;

// From here on the ceiling is FP32, below it DRAM. Current GPUs have about 14 FLOP per byte, 28 FMAs per
// 4-byte load.
constexpr int fp32_from = 32;

struct Parameters {
  const float* input;
  float* output;  ///< one per thread
  int iterations;
};

/// Thread t of n loads elements t, t + n, t + 2n ..., `ilp` at once, with a chain of FMAs on each.
template <int fma_per_load, int ilp>
struct Body {
  using Parameters = intensity::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t n = device::thread_count();
    std::int64_t at = device::thread_index();
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += ilp * n) {
      float x[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) x[j] = p.input[at + j * n];
#pragma unroll
      for (int step = 0; step < fma_per_load; ++step) {
#pragma unroll
        for (int j = 0; j < ilp; ++j) x[j] = fmaf(x[j], turn, x[j]);
      }
#pragma unroll
      for (int j = 0; j < ilp; ++j) sum += x[j];
    }
    p.output[device::thread_index()] = sum;
  }
};

namespace {

std::optional<std::string> mismatch(Arena& arena, const Shape& shape, int fma_per_load, int ilp) {
  const auto threads = static_cast<std::size_t>(shape.threads());
  const auto rows = static_cast<std::size_t>(shape.iterations * ilp);
  const auto input = arena.reference_input<float>(rows * threads);
  const double scale = std::pow(1.0 + double{turn}, fma_per_load);
  return arena.first_mismatch<float>(threads, 1e-5, [&](std::size_t thread) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += input[row * threads + thread];
    return sum * scale;
  });
}

void add(int fma_per_load, int ilp, const void* entry) {
  const double bytes_per_iteration = double(sizeof(float)) * ilp;
  const double flop_per_iteration = (2.0 * fma_per_load + 1) * ilp;
  const Dials dials{.ilp = ilp, .bytes_per_access = sizeof(float), .fma_per_load = fma_per_load};
  Instructions instructions{{"LDG.32", ilp}, {"FADD", ilp}};
  if (fma_per_load > 0) instructions["FFMA"] = fma_per_load * ilp;
  add_variant({
      .family = "intensity",
      .name = "ilp" + std::to_string(ilp) + "-fma" + std::to_string(fma_per_load),
      .dials = dials,
      .ceiling = fma_per_load < fp32_from ? Ceiling::dram : Ceiling::fp32,
      .iteration = {.dram_bytes = bytes_per_iteration,
                    .flop = flop_per_iteration,
                    .latency_cycles = 4.0 * (fma_per_load + ilp),
                    .dram_waits = 1},
      .instructions = instructions,
      .l2_before = L2::clean,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.input_bytes() / sizeof(float)) / (shape.threads() * ilp);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)});
            const auto threads = static_cast<double>(shape.threads());
            const auto iterations = static_cast<double>(shape.iterations);
            problem.work = {.bytes = threads * (iterations * bytes_per_iteration + sizeof(float)),
                            .flop = threads * iterations * flop_per_iteration};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] { return mismatch(arena, shape, fma_per_load, ilp); };
            return problem;
          },
      .entry = entry,
  });
}

const Registration registered{[] {
  for_each_value<1, 4>([]<int ilp>(std::integral_constant<int, ilp>) {
    for_each_value<0, 1, 2, 4, 8, 16, 32, 64, 128, 256>([]<int k>(std::integral_constant<int, k>) {
      if constexpr (k * ilp <= 512)  // longer loops would exceed the instruction cache
        add(k, ilp, reinterpret_cast<const void*>(free_entry<Body<k, ilp>>));
    });
  });
}};

}  // namespace

}  // namespace occbench::intensity
