// SPDX-License-Identifier: Apache-2.0
// Shows: integer, special-function and FP32 work in one chain without memory, overlapped by generators per
//   thread or by warps.
// Expected: no pipe is always busy, the special-function unit the most. Several generators need fewer warps
//   than one only if the compiler has the registers to interleave them; with many warps there is no
//   difference.
// Published: Glasserman, 'Monte Carlo Methods in Financial Engineering' (2003), ch. 3; the generators:
//   Marsaglia, 'Xorshift RNGs' (J. Stat. Softw. 8, 2003), Box and Muller (Ann. Math. Stat. 29, 1958); the
//   curve: Volkov 2010.
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/family.cuh"

namespace occbench::monte_carlo {

// An at-the-money call in units of today's price: one year of geometric Brownian motion in one step.
constexpr double riskless = 0.02;    // interest rate per year
constexpr double volatility = 0.30;  // per square root of a year
constexpr double strike = 1;

constexpr int draws = 4;           // of a generator per iteration: one per state word, which saves moves
constexpr int flop_per_pair = 20;  // two prices from two draws; a special function counts as one

// The price is 2^(drift + radius cos(angle)), with a pre-scaled Box-Muller radius.
constexpr double drift = (riskless - 0.5 * volatility * volatility) * std::numbers::log2e;
constexpr double radius_squared_per_bit =
    2 * std::numbers::ln2 * (volatility * volatility) * (std::numbers::log2e * std::numbers::log2e);

struct Parameters {
  float* sums;  ///< of payoffs, per thread
  int iterations;
};

/// Marsaglia's xorshift128.
struct Generator {
  std::uint32_t x, y, z, w;

  /// Generator `number`, at a place in the sequence of 2^128 - 1. mix is a bijection that maps only 0 to 0.
  static OCCBENCH_HOST_DEVICE Generator numbered(std::uint32_t number) {
    return {mix(4 * number + 1), mix(4 * number + 2), mix(4 * number + 3), mix(4 * number + 4)};
  }
  OCCBENCH_HOST_DEVICE std::uint32_t draw() {
    const std::uint32_t t = x ^ (x << 11);
    x = y;
    y = z;
    z = w;
    w = w ^ (w >> 19) ^ t ^ (t >> 8);
    return w;
  }
};

// Not __logf and the like, which handle denormals: none occur.
__device__ __forceinline__ float log2_of(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float root_of(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Uniform in [1, 2), from the upper 23 of the random bits.
__device__ __forceinline__ float uniform(std::uint32_t bits) {
  return __uint_as_float(bits >> 9 | 0x3f800000U);
}

/// max(price - strike, 0) for a price of 2^exponent.
__device__ __forceinline__ float payoff(float exponent) {
  return fmaxf(exp2_of(exponent) - static_cast<float>(strike), 0.0F);
}

/// Each thread has `paths` generators.
template <int paths>
struct Body {
  using Parameters = monte_carlo::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    Generator generator[paths];
    float sum[paths] = {};
#pragma unroll
    for (int j = 0; j < paths; ++j)
      generator[j] = Generator::numbered(static_cast<std::uint32_t>(index) * paths + j);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int pair = 0; pair < draws / 2; ++pair) {
#pragma unroll
        for (int j = 0; j < paths; ++j) {
          // (0, 1]; fabsf for logarithms rounded above 0
          const float bits = fabsf(log2_of(2.0F - uniform(generator[j].draw())));
          const float radius = root_of(bits * static_cast<float>(radius_squared_per_bit));
          // [-pi, pi), where the fast functions are accurate enough
          const float angle = fmaf(uniform(generator[j].draw()), static_cast<float>(2 * std::numbers::pi),
                                   static_cast<float>(-3 * std::numbers::pi));
          sum[j] += payoff(fmaf(radius, __cosf(angle), static_cast<float>(drift)));
          sum[j] += payoff(fmaf(radius, __sinf(angle), static_cast<float>(drift)));
        }
      }
    }
    float all = sum[0];
#pragma unroll
    for (int j = 1; j < paths; ++j) all += sum[j];
    p.sums[index] = all;
  }
};

namespace {

/// The sum of thread `thread` after `iterations`: the same integers, with textbook Box-Muller normals.
double reference(std::size_t thread, int paths, std::int64_t iterations) {
  double sum = 0;
  for (int j = 0; j < paths; ++j) {
    Generator generator =
        Generator::numbered(static_cast<std::uint32_t>(thread) * static_cast<std::uint32_t>(paths) +
                            static_cast<std::uint32_t>(j));
    for (std::int64_t pair = 0; pair < iterations * draws / 2; ++pair) {
      const double u = 1 - (generator.draw() >> 9) * 0x1p-23;
      const double angle = 2 * std::numbers::pi * ((generator.draw() >> 9) * 0x1p-23) - std::numbers::pi;
      const double radius = std::sqrt(-2 * std::log(u));
      for (const double normal : {radius * std::cos(angle), radius * std::sin(angle)}) {
        const double price = std::exp(riskless - 0.5 * volatility * volatility + volatility * normal);
        sum += std::max(price - strike, 0.0);
      }
    }
  }
  return sum;
}

template <int paths, int cap = 0>
void add() {
  constexpr int pairs = draws / 2 * paths;
  constexpr double flop_per_iteration = double{flop_per_pair} * pairs;
  // a scheduler issues a special function every eight cycles, and a pair takes six
  constexpr double issue_cycles = 6.0 * 8 * pairs;
  entry_of<Body<paths>, cap>().add({
      .family = "monte_carlo",
      .name = "paths" + std::to_string(paths),
      .dials = {.ilp = paths},
      .ceiling = Ceiling::fp32,
      // four dependent draws and the payoff of the last, after the warp's own instructions
      .iteration = {.flop = flop_per_iteration,
                    .latency_cycles = 200.0 + issue_cycles,
                    .pipe_cycles_per_warp = issue_cycles / 4},
      .instructions = {{"FADD", 5 * pairs}, {"FFMA", 3 * pairs}, {"FMUL", 2 * pairs}, {"MUFU", 6 * pairs}},
      .may_spill = paths == 4 && cap == 24,
      .l2_before = L2::warm,
      .max_iterations = unless_too_many_threads<float>(),
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                Parameters{.sums = arena.output<float>(), .iterations = static_cast<int>(shape.iterations)});
            const auto threads = static_cast<double>(shape.threads());
            problem.work = {.bytes = threads * sizeof(float),
                            .flop = threads * static_cast<double>(shape.iterations) * flop_per_iteration};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            // tolerance: logarithms are accurate to 2^-22, roots near 0 to 1e-3; a wrong draw is off by 0.1
            problem.mismatch = [=, &arena] {
              return arena.first_mismatch<float>(
                  static_cast<std::size_t>(shape.threads()), 1e-3,
                  [=](std::size_t thread) { return reference(thread, paths, shape.iterations); });
            };
            return problem;
          },
  });
}

const Registration registered{[] {
  add<1>();
  add<2>();
  add<4>();
  // Without a cap nvcc 13 runs four generators one after the other in 32 registers: 48 interleave them, 24
  // spill.
  add<4, 48>();
  add<4, 24>();
  add<2, 24>();
}};

}  // namespace

}  // namespace occbench::monte_carlo
