// SPDX-License-Identifier: Apache-2.0
// Shows: an elementwise kernel between memory- and compute-bound: three streams in, two out, about 70
//   instructions per element.
// Expected: the DRAM bandwidth of a copy, but with more warps, since arithmetic and special functions nearly
//   fill the issue slots; several options per thread replace warps, until registers run out.
// Published: Podlozhnyuk, 'Black-Scholes option pricing' (CUDA SDK 2007); the curve: Volkov 2010.
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::black_scholes {

constexpr float riskless = 0.02F;    // interest rate per year
constexpr float volatility = 0.30F;  // per square root of a year

// Map the random input in [-1, 1) to the ranges of the SDK sample.
template <class T>
__host__ __device__ constexpr T price_of(T x) {  // 5 ... 30
  return x * T{12.5} + T{17.5};
}
template <class T>
__host__ __device__ constexpr T strike_of(T x) {  // 1 ... 100
  return x * T{49.5} + T{50.5};
}
template <class T>
__host__ __device__ constexpr T years_of(T x) {  // 0.25 ... 10
  return x * T{4.875} + T{5.125};
}

constexpr int flop_per_option = 65;  // of the formulas as written; a special function counts as one
constexpr std::size_t max_options = std::size_t{1} << 30;  // indexed by int

struct Parameters {
  const float* price;
  const float* strike;
  const float* years;
  float* call;
  float* put;
  int iterations;
};

/// The normal distribution's integral up to d, to 7.5e-8 (Abramowitz and Stegun 26.2.17).
__device__ __forceinline__ float normal(float d) {
  const float k = __fdividef(1.0F, fmaf(0.2316419F, fabsf(d), 1.0F));
  float polynomial = fmaf(k, 1.330274429F, -1.821255978F);
  polynomial = fmaf(k, polynomial, 1.781477937F);
  polynomial = fmaf(k, polynomial, -0.356563782F);
  polynomial = fmaf(k, polynomial, 0.319381530F);
  const float tail = 0.39894228F * __expf(-0.5F * d * d) * (k * polynomial);
  return d > 0 ? 1.0F - tail : tail;
}

/// Thread t of n prices options t, t + n, t + 2n, ..., `options` of them at once.
template <int options>
struct Body {
  using Parameters = black_scholes::Parameters;

  static __device__ void run(const Parameters& p) {
    // 32-bit indices: five 64-bit addresses would take a third of the registers.
    const auto n = static_cast<int>(device::thread_count());
    auto at = static_cast<int>(device::thread_index());
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += options * n) {
      float price[options], strike[options], years[options];
#pragma unroll
      for (int j = 0; j < options; ++j) {
        price[j] = price_of(p.price[at + j * n]);
        strike[j] = strike_of(p.strike[at + j * n]);
        years[j] = years_of(p.years[at + j * n]);
      }
#pragma unroll
      for (int j = 0; j < options; ++j) {
        const float inverse_root = rsqrtf(years[j]);
        const float spread = volatility * years[j] * inverse_root;
        const float drift = (riskless + 0.5F * volatility * volatility) * years[j];
        const float d1 =
            (__logf(__fdividef(price[j], strike[j])) + drift) * (inverse_root * (1 / volatility));
        const float below1 = normal(d1);
        const float below2 = normal(d1 - spread);
        const float discounted = strike[j] * __expf(-riskless * years[j]);
        p.call[at + j * n] = price[j] * below1 - discounted * below2;
        p.put[at + j * n] = discounted * (1.0F - below2) - price[j] * (1.0F - below1);
      }
    }
  }
};

namespace {

/// The price of a call or put from elements of the random input.
double reference(float price_input, float strike_input, float years_input, bool put) {
  const double price = price_of(double{price_input});
  const double strike = strike_of(double{strike_input});
  const double years = years_of(double{years_input});
  const double v = volatility;
  const double spread = v * std::sqrt(years);
  const double d1 = (std::log(price / strike) + (riskless + 0.5 * v * v) * years) / spread;
  const double side = put ? -1 : 1;
  const auto below = [&](double d) { return 0.5 * std::erfc(-side * d / std::sqrt(2.0)); };
  return side * (price * below(d1) - strike * std::exp(-double{riskless} * years) * below(d1 - spread));
}

template <int options, int cap = 0>
void add() {
  constexpr double issue_cycles = 100.0 * options;  // per iteration
  const auto options_of = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads()) * static_cast<std::size_t>(shape.iterations) * options;
  };
  entry_of<Body<options>, cap>().add({
      .family = "black_scholes",
      .name = "options" + std::to_string(options),
      .dials = {.ilp = options, .bytes_per_access = sizeof(float)},
      .ceiling = Ceiling::dram,
      // the dependent chain of one option, and the warp's own issue
      .iteration = {.dram_bytes = 5.0 * sizeof(float) * options,
                    .flop = double(flop_per_option) * options,
                    .latency_cycles = 350.0 + issue_cycles,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = issue_cycles / 4},
      // more FMUL than written: the fast functions scale denormals and large exponents
      .instructions = {{"LDG.32", 3 * options},
                       {"FADD", 5 * options},
                       {"FFMA", 17 * options},
                       {"FMUL", 37 * options},
                       {"MUFU", 8 * options},
                       {"STG.32", 2 * options}},
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            const std::size_t room = std::min(arena.input_bytes() / 3, arena.output_bytes() / 2);
            const std::size_t most = std::min(room / sizeof(float), max_options);
            return static_cast<std::int64_t>(most / options) / shape.threads();
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t n = options_of(shape);
            const float* input = arena.input<float>();
            float* output = arena.output<float>();
            return problem_of<float>(arena,
                                     Parameters{.price = input,
                                                .strike = input + n,
                                                .years = input + 2 * n,
                                                .call = output,
                                                .put = output + n,
                                                .iterations = static_cast<int>(shape.iterations)},
                                     {.bytes = 5.0 * sizeof(float) * static_cast<double>(n),
                                      .flop = double(flop_per_option) * static_cast<double>(n)},
                                     2 * n, 1e-4, [=](std::size_t i) {
                                       constexpr RandomInput<float> in;
                                       const std::size_t at = i % n;
                                       return reference(in[at], in[n + at], in[2 * n + at], i >= n);
                                     });
          },
  });
}

const Registration registered{[] {
  add<1>();
  add<2>();
  add<4>();
  // Without a cap nvcc 13 uses 32 registers for four options and delays some loads; with 40 it issues all
  // twelve first.
  add<4, 40>();
  add<2, 24>();
}};

}  // namespace

}  // namespace occbench::black_scholes
