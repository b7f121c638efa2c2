// SPDX-License-Identifier: Apache-2.0
// Families `calibration` and `probes`: kernels that measure model parameters and are not used to validate
// the model. Only `occbench calibrate` runs them. Each file measures one part of a GPU.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/family.cuh"

namespace occbench::calibration {

struct Parameters {
  const float* input;
  float* output;  ///< one per thread
  int iterations;
};

constexpr float drift = 1.8F;  // drift - x * x stays in [-2, 2] without fixed point

/// Computed from the index, so that block turnover is timed without a load.
__host__ __device__ inline float chain_start(std::int64_t thread, int chain) {
  return static_cast<float>(static_cast<int>(thread % 32) + 32 * chain) * 0x1p-8F;
}

constexpr int ring = 6;  // words per thread that the logic instructions cycle through

__host__ __device__ inline unsigned word_start(std::int64_t thread, int j) {
  return mix(static_cast<unsigned>(thread % 32 * ring + j));
}
/// word ^ (other | constant), invertible in `word`, so words do not converge. Written as one LOP3, since the
/// compiler would factor out the constants.
__host__ __device__ inline unsigned logic(unsigned word, unsigned other) {
#ifdef __CUDA_ARCH__
  asm("lop3.b32 %0, %0, %1, 0x5A5A5A5A, 0x1E;" : "+r"(word) : "r"(other));
  return word;
#else
  return word ^ (other | 0x5A5A5A5AU);
#endif
}

/// The differences between variants; all output one value per thread.
struct Form {
  std::string name;
  std::string family = "calibration";
  LoopIteration iteration = {};
  Instructions instructions = {};
  int hot_loops = 1;
  bool may_spill = false;
  Ceiling ceiling = Ceiling::none;
  double bytes = 0;       ///< loaded (Spill: stored) per thread and iteration
  double operations = 0;  ///< per thread and iteration
  int fixed_block_size = 0;
  int min_cc = 0;
  bool only_this_cc = false;
  std::size_t dynamic_smem_bytes = 0;
  /// Outputs after `iterations`, periodic in the threads; `input`: 2,048 values of the arena's, on the CPU.
  std::function<std::vector<double>(const float* input, int iterations)> reference;
  std::function<double(int iterations)> tolerance = [](int) { return 0.0; };
  const void* entry = nullptr;
};

inline void add(const Form& f) {
  Dials dials;  // separate because g++ 12 warns about an uninitialised string if nested
  add_variant({
      .family = f.family,
      .name = f.name,
      .dials = dials,
      .ceiling = f.ceiling,
      .iteration = f.iteration,
      .instructions = f.instructions,
      .hot_loops = f.hot_loops,
      .may_spill = f.may_spill,
      .fixed_block_size = f.fixed_block_size,
      .min_cc = f.min_cc,
      .only_this_cc = f.only_this_cc,
      .l2_before = L2::warm,
      .check_iterations = 5,
      .dynamic_smem_bytes = [bytes = f.dynamic_smem_bytes](int) { return bytes; },
      .prepare =
          [f](Arena& arena, const Shape& shape) {
            const int iterations = static_cast<int>(shape.iterations);
            const double thread_iterations = static_cast<double>(shape.threads()) * iterations;
            Problem problem;
            problem.set_parameters(Parameters{arena.input<float>(), arena.output<float>(), iterations});
            problem.work = {.bytes = thread_iterations * f.bytes,
                            .flop = thread_iterations * f.iteration.flop,
                            .operations = thread_iterations * f.operations};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto outputs = f.reference(arena.reference_input<float>(2048).data(), iterations);
              return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()),
                                                 f.tolerance(iterations),
                                                 [&](std::size_t i) { return outputs[i % outputs.size()]; });
            };
            return problem;
          },
      .predicted = false,
      .entry = f.entry,
  });
}

/// The outputs of 32 threads, each `output_of(thread)`.
template <class Output>
std::vector<double> of_each_lane(const Output& output_of) {
  std::vector<double> outputs;
  for (int thread = 0; thread < 32; ++thread) outputs.push_back(static_cast<double>(output_of(thread)));
  return outputs;
}

/// A chain after so many steps, in exact float32 arithmetic.
inline float chain_after(int thread, int chain, std::int64_t steps) {
  float x = chain_start(thread, chain);
  for (std::int64_t step = 0; step < steps; ++step) x = std::fma(-x, x, drift);
  return x;
}

}  // namespace occbench::calibration
