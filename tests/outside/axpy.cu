// SPDX-License-Identifier: Apache-2.0
// Shows: two loads and a store per element, with one FMA between them.
// Expected: rises with resident warps, faster than a read of the same width: two loads are in flight.
// Published: BLAS level 1; McCalpin's STREAM, triad.
#include <occbench/family.cuh>

namespace occbench::axpy {

/// z = x / 2 + y; thread t of n takes elements t, t + n, t + 2n, ...
struct Body {
  struct Parameters {
    const float *x, *y;
    float* z;
    std::int64_t iterations;
  };
  static __device__ void run(const Parameters& p) {
    const std::int64_t n = device::thread_count();
    std::int64_t at = device::thread_index();
#pragma unroll 1
    for (std::int64_t i = 0; i < p.iterations; ++i, at += n) p.z[at] = fmaf(0.5F, p.x[at], p.y[at]);
  }
};

namespace {

Problem prepare(Arena& arena, const Shape& shape) {
  const auto n = static_cast<std::size_t>(shape.threads() * shape.iterations);
  const float* const x = arena.input<float>();
  Problem problem;
  problem.set_parameters(Body::Parameters{x, x + n /* y */, arena.output<float>(), shape.iterations});
  problem.work = {.bytes = 12.0 * static_cast<double>(n), .flop = 2.0 * static_cast<double>(n)};
  problem.poison = [&arena, n] { arena.poison_output(n * sizeof(float)); };
  problem.mismatch = [&arena, n] {
    const auto in = arena.reference_input<float>(2 * n);
    return arena.first_mismatch<float>(n, 1e-6, [&](std::size_t i) { return 0.5 * in[i] + in[n + i]; });
  };
  return problem;
}

std::int64_t max_iterations(const Arena& arena, const Shape& shape) {
  const std::size_t most = std::min(arena.input_bytes() / 8, arena.output_bytes() / 4);
  return static_cast<std::int64_t>(most) / shape.threads();
}

const Registration registered{[] {
  add_variant({.family = "axpy",
               .name = "f32",
               .dials = {.bytes_per_access = 4},
               .iteration = {.dram_bytes = 12, .flop = 2, .latency_cycles = 4, .dram_waits = 1},
               .instructions = {{"LDG.32", 2}, {"FFMA", 1}, {"STG.32", 1}},
               .l2_before = L2::dirty,
               .max_iterations = max_iterations,
               .prepare = prepare,
               .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}};

}  // namespace

}  // namespace occbench::axpy
