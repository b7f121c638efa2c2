// SPDX-License-Identifier: Apache-2.0
// Shows: arithmetic latency is hidden by warps or by ILP alike, up to the limit of the pipe or the register
//   ports.
// Expected: 4 warps per SM at ILP 1 reach 25 % of peak, 16 reach all of it; three distinct register operands
//   without reuse stop near half of peak at any occupancy.
// Published: Volkov, 'Better performance at lower occupancy' (GTC 2010); PMPP 4.6.
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::fma_chain {

/// Operand forms of one FMA: x = x * x + a reads two registers, x = x * a + b three.
enum class Form { two_registers, three_registers };

constexpr std::int64_t period = 4096;  // threads with the same index modulo this compute the same
constexpr int target_fma_per_iteration =
    512;  // the loop's three instructions then take 0.6 % of the issue slots

__host__ __device__ constexpr int depth(int ilp) { return (target_fma_per_iteration + ilp - 1) / ilp; }

struct Parameters {
  const float* input;  ///< at least 10 x period values
  float* output;       ///< one per thread
  int iterations;
};

/// Operands of thread `index`, for maps without fixed points: operands must toggle, and a missing step must
/// show.
__host__ __device__ inline float start_of(const float* input, std::int64_t index, int chain) {
  return input[index % period + chain * period];
}
template <Form form>
__host__ __device__ float a_of(const float* input, std::int64_t index) {
  const float u = input[index % period + 8 * period];
  if (form == Form::two_registers) return 0.2F * u - 1.75F;  // x * x + a stays in [-2, 2] and is chaotic
  return 5e-6F * u - 0.99999F;  // x * a + b alternates in sign and decays over 10^5 steps
}
__host__ __device__ inline float b_of(const float* input, std::int64_t index) {
  return input[index % period + 9 * period];
}

template <Form form, int ilp>
struct Body {
  using Parameters = fma_chain::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const float a = a_of<form>(p.input, index);
    [[maybe_unused]] const float b = b_of(p.input, index);
    float x[ilp];
#pragma unroll
    for (int j = 0; j < ilp; ++j) x[j] = start_of(p.input, index, j);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int step = 0; step < depth(ilp); ++step) {
#pragma unroll
        for (int j = 0; j < ilp; ++j)
          x[j] = form == Form::two_registers ? fmaf(x[j], x[j], a) : fmaf(x[j], a, b);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < ilp; ++j) sum += x[j];
    p.output[index] = sum;
  }
};

namespace {

/// Outputs of the threads of one period, in exact float32 arithmetic: in a chaotic chain any missing step or
/// wrong operand shows.
template <Form form>
std::vector<float> reference(const float* input, int ilp, std::int64_t iterations) {
  std::vector<float> outputs(static_cast<std::size_t>(period));
  for (std::int64_t t = 0; t < period; ++t) {
    const float a = a_of<form>(input, t);
    const float b = b_of(input, t);
    float sum = 0;
    for (int j = 0; j < ilp; ++j) {
      float x = start_of(input, t, j);
      for (std::int64_t step = 0; step < iterations * depth(ilp); ++step)
        x = form == Form::two_registers ? std::fma(x, x, a) : std::fma(x, a, b);
      sum += x;
    }
    outputs[static_cast<std::size_t>(t)] = sum;
  }
  return outputs;
}

template <Form form>
void add(int ilp, const void* entry) {
  const int fma = ilp * depth(ilp);
  const std::string operands = form == Form::two_registers ? "two-operand" : "three-operand";
  add_variant({
      .family = "fma_chain",
      .name = operands + "-ilp" + std::to_string(ilp),
      .form = operands,
      .dials = {.ilp = ilp},
      .ceiling = Ceiling::fp32,
      .iteration = {.flop = 2.0 * fma, .latency_cycles = 4.0 * depth(ilp)},
      .instructions = {{"FFMA", fma}},
      .l2_before = L2::warm,
      .check_iterations = 1,
      .max_iterations = unless_too_many_threads<float>(),
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)});
            const auto threads = static_cast<double>(shape.threads());
            problem.work = {.bytes = threads * sizeof(float),
                            .flop = threads * static_cast<double>(shape.iterations) * 2 * fma};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const float* const input = arena.reference_input<float>(10 * period).data();
              const auto outputs = reference<form>(input, ilp, shape.iterations);
              return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()), 0,
                                                 [&](std::size_t i) { return outputs[i % outputs.size()]; });
            };
            return problem;
          },
      .entry = entry,
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 3, 4, 6, 8>([]<int ilp>(std::integral_constant<int, ilp>) {
    add<Form::two_registers>(ilp, reinterpret_cast<const void*>(free_entry<Body<Form::two_registers, ilp>>));
    add<Form::three_registers>(ilp,
                               reinterpret_cast<const void*>(free_entry<Body<Form::three_registers, ilp>>));
  });
}};

}  // namespace

}  // namespace occbench::fma_chain
