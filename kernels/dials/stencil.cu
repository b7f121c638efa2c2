// SPDX-License-Identifier: Apache-2.0
// Shows: three adjacent loads and a store per element; two of the three loads hit the L1.
// Expected: as fast as a copy with enough warps, since DRAM traffic is the same; more instructions per byte.
// Published: PMPP ch. 7, 1D convolution of radius 1; McCalpin's STREAM, scale.
#include "kernels/family.cuh"

namespace occbench::stencil {

constexpr float third = 1.0F / 3;

/// o[i] = (a[i] + a[i + 1] + a[i + 2]) / 3; thread t of n takes elements t, t + n, t + 2n, ...
struct Body {
  struct Parameters {
    const float* a;
    float* output;
    std::int64_t iterations;
  };
  static __device__ void run(const Parameters& p) {
    const std::int64_t n = device::thread_count();
    std::int64_t at = device::thread_index();
#pragma unroll 1
    for (std::int64_t i = 0; i < p.iterations; ++i, at += n)
      p.output[at] = third * (p.a[at] + p.a[at + 1] + p.a[at + 2]);
  }
};

namespace {

Problem prepare(Arena& arena, const Shape& shape) {
  const auto n = static_cast<std::size_t>(shape.threads() * shape.iterations);
  Problem problem;
  problem.set_parameters(Body::Parameters{arena.input<float>(), arena.output<float>(), shape.iterations});
  problem.work = {.bytes = 8.0 * static_cast<double>(n), .flop = 3.0 * static_cast<double>(n)};
  problem.poison = [&arena, n] { arena.poison_output(n * sizeof(float)); };
  problem.reference_covers_timed = true;
  problem.mismatch = [&arena, n] {
    constexpr RandomInput<float> a;
    return arena.first_mismatch<float>(
        n, 1e-5, [&](std::size_t i) { return (double{a[i]} + a[i + 1] + a[i + 2]) / 3; });
  };
  return problem;
}

std::int64_t max_iterations(const Arena& arena, const Shape& shape) {
  const std::size_t elements = std::min(arena.input_bytes(), arena.output_bytes()) / sizeof(float) - 2;
  return static_cast<std::int64_t>(elements) / shape.threads();
}

const Registration registered{[] {
  add_variant({.family = "stencil",
               .name = "f32-points3",
               .dials = {.bytes_per_access = 4},
               .iteration = {.dram_bytes = 8, .flop = 3, .latency_cycles = 12, .dram_waits = 1},
               .instructions = {{"LDG.32", 3}, {"FADD", 2}, {"FMUL", 1}, {"STG.32", 1}},
               .l2_before = L2::dirty,
               .max_iterations = max_iterations,
               .prepare = prepare,
               .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}};

}  // namespace

}  // namespace occbench::stencil
