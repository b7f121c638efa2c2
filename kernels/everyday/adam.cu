// SPDX-License-Identifier: Apache-2.0
// Shows: a step of the Adam optimizer: four arrays in, three out, so each thread has many bytes in flight.
// Expected: DRAM bandwidth with a quarter of the warps of a copy with the same access width; wider or more
//   accesses need fewer warps but are not faster, and their registers reduce residency.
// Published: Kingma and Ba, 'Adam: a method for stochastic optimization' (ICLR 2015), algorithm 1; Volkov
// 2010.
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::adam {

// Kingma and Ba's constants, with ten times their learning rate, so that float32 resolves a step.
constexpr double learning_rate = 0.01;
constexpr double beta1 = 0.9;
constexpr double beta2 = 0.999;
constexpr double epsilon = 1e-8;
constexpr int step = 20;

constexpr int inputs = 4;
constexpr int outputs = 3;
constexpr int flop_per_element = 14;  // root and reciprocal count as one each

constexpr std::size_t max_elements = std::size_t{1} << 30;  // indexed by int

/// Divisor of the moments in step `step`, since they start at zero.
double bias_correction(double beta) { return 1 - std::pow(beta, step); }

struct Parameters {
  const float* parameter;
  const float* gradient;
  const float* first;   ///< moment
  const float* second;  ///< moment; the sign of the random data is ignored
  float* new_parameter;
  float* new_first;
  float* new_second;
  float rate;               ///< learning rate over the first moment's bias correction
  float second_correction;  ///< 1 over the second moment's
  int iterations;
};

// The hardware's approximations, as under -use_fast_math.
__device__ __forceinline__ float root(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Thread t of n updates packs t, t + n, t + 2n, ..., `ilp` of them at once.
template <int lanes, int ilp>
struct Body {
  using Parameters = adam::Parameters;

  /// Consecutive elements, loaded or stored as one access.
  struct alignas(sizeof(float) * lanes) Pack {
    float lane[lanes];
  };

  static __device__ void run(const Parameters& p) {
    const auto pack = [](const float* array, int at) -> const Pack& {
      return reinterpret_cast<const Pack*>(array)[at];
    };
    const auto store = [](float* array, int at, const Pack& x) { reinterpret_cast<Pack*>(array)[at] = x; };
    // 32-bit indices: seven 64-bit addresses would take more registers than the data.
    const auto n = static_cast<int>(device::thread_count());
    auto at = static_cast<int>(device::thread_index());
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += ilp * n) {
      Pack parameter[ilp], gradient[ilp], first[ilp], second[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
        parameter[j] = pack(p.parameter, at + j * n);
        gradient[j] = pack(p.gradient, at + j * n);
        first[j] = pack(p.first, at + j * n);
        second[j] = pack(p.second, at + j * n);
      }
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
#pragma unroll
        for (int e = 0; e < lanes; ++e) {
          const float g = gradient[j].lane[e];
          float& m = first[j].lane[e];
          float& v = second[j].lane[e];
          m = static_cast<float>(beta1) * m + static_cast<float>(1 - beta1) * g;
          v = static_cast<float>(beta2) * fabsf(v) + static_cast<float>(1 - beta2) * (g * g);
          const float scale = reciprocal(root(v * p.second_correction) + static_cast<float>(epsilon));
          parameter[j].lane[e] -= p.rate * m * scale;
        }
        store(p.new_parameter, at + j * n, parameter[j]);
        store(p.new_first, at + j * n, first[j]);
        store(p.new_second, at + j * n, second[j]);
      }
    }
  }
};

namespace {

/// Element `i` of the new parameters (array 0), first (1) or second moments (2) of `n` each.
double reference(std::size_t i, std::size_t n, std::size_t array) {
  const auto input = [&](std::size_t which) -> double { return random_value<float>(which * n + i); };
  const double gradient = input(1);
  const double first = beta1 * input(2) + (1 - beta1) * gradient;
  const double second = beta2 * std::abs(input(3)) + (1 - beta2) * gradient * gradient;
  if (array > 0) return array == 1 ? first : second;
  const double spread = std::sqrt(second / bias_correction(beta2));
  return input(0) - learning_rate * (first / bias_correction(beta1)) / (spread + epsilon);
}

template <int lanes, int ilp, int cap = 0>
void add() {
  constexpr int width = lanes * static_cast<int>(sizeof(float));
  constexpr int elements = lanes * ilp;  // per thread and iteration
  const std::string bits = std::to_string(8 * width);
  const auto elements_of = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * elements;
  };
  entry_of<Body<lanes, ilp>, cap>().add({
      .family = "adam",
      .name = std::to_string(width) + "B-ilp" + std::to_string(ilp),
      .dials = {.ilp = ilp, .bytes_per_access = width},
      .ceiling = Ceiling::dram,
      // the dependent chain of one element, and the issue of the others'; a root and a reciprocal each
      .iteration = {.dram_bytes = double{inputs + outputs} * width * ilp,
                    .flop = double{flop_per_element} * elements,
                    .latency_cycles = 110.0 + 16.0 * elements,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = 4.0 * elements},
      .instructions = {{"LDG." + bits, inputs * ilp},
                       {"STG." + bits, outputs * ilp},
                       {"FADD", elements},
                       {"FFMA", 3 * elements},
                       {"FMUL", 5 * elements},
                       {"MUFU", 2 * elements}},
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            const std::size_t room = std::min(arena.input_bytes() / inputs, arena.output_bytes() / outputs);
            const std::size_t most = std::min(room / sizeof(float), max_elements);
            return static_cast<std::int64_t>(most / elements) / shape.threads();
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t n = elements_of(shape);
            const float* input = arena.input<float>();
            float* output = arena.output<float>();
            return problem_of<float>(
                arena,
                Parameters{.parameter = input,
                           .gradient = input + n,
                           .first = input + 2 * n,
                           .second = input + 3 * n,
                           .new_parameter = output,
                           .new_first = output + n,
                           .new_second = output + 2 * n,
                           .rate = static_cast<float>(learning_rate / bias_correction(beta1)),
                           .second_correction = static_cast<float>(1 / bias_correction(beta2)),
                           .iterations = static_cast<int>(shape.iterations)},
                {.bytes = double{inputs + outputs} * sizeof(float) * static_cast<double>(n),
                 .flop = double{flop_per_element} * static_cast<double>(n)},
                outputs * n, 2e-6, [=](std::size_t i) { return reference(i % n, n, i / n); });
          },
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 4>([]<int ilp>(std::integral_constant<int, ilp>) {
    add<1, ilp>();
    add<4, ilp>();
  });
  // Without a cap nvcc 13 uses 72 and 40 registers and delays some loads; with these caps it issues all
  // loads first.
  add<4, 4, 80>();
  add<4, 2, 48>();
}};

}  // namespace

}  // namespace occbench::adam
