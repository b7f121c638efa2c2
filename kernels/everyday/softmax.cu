// SPDX-License-Identifier: Apache-2.0
// Shows: the softmax of a matrix's rows, each held in registers while its maximum and then its sum are
//   computed.
// Expected: the bandwidth of a copy, with more warps: a warp has nothing in flight between its last load and
//   its stores. Longer rows have more bytes in flight but reduce occupancy; a block per row adds barriers.
// Published: Milakov and Gimelshein, 'Online normalizer calculation for softmax' (2018), the 'safe' one;
//   Volkov 2010.
#include <cmath>

#include "kernels/everyday/rows.cuh"

namespace occbench::softmax {

// Inputs are random in [-1, 1), scaled by 8 so that a row has some large and many small results. Powers are
// of 2, as in hardware.
constexpr double sharpness = 8;
constexpr auto exponent = static_cast<float>(sharpness * 1.4426950408889634);

constexpr int flop_per_element = 5;  // difference, product, power, sum, quotient; maxima are not counted

struct Parameters {
  const float* input;  ///< row-major
  float* output;       ///< row-major
  int iterations;
};

/// 2^x. Not exp2f, which handles denormals.
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A row in the registers of its team: see rows::Share.
template <int team, int row, int lanes>
struct Body : rows::Share<team, row, lanes> {
  using Parameters = softmax::Parameters;
  using Share = rows::Share<team, row, lanes>;
  using typename Share::Pack;
  static constexpr int loads = Share::loads;
  static constexpr int elements = Share::elements;
  static constexpr int warps = Share::warps;

  static __device__ void run(const Parameters& p) {
    __shared__ float maxima[warps], sums[warps];
    const auto add = [](float a, float b) { return a + b; };
    const auto greater = [](float a, float b) { return fmaxf(a, b); };
    const std::int64_t step = device::thread_count() * loads;
    std::int64_t at = device::thread_index() / team * (team * loads) + threadIdx.x % team;
    const auto* input = reinterpret_cast<const Pack*>(p.input) + at;
    auto* output = reinterpret_cast<Pack*>(p.output) + at;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, input += step, output += step) {
      Pack x[loads];
#pragma unroll
      for (int j = 0; j < loads; ++j) x[j] = input[j * team];
      float most = x[0].lane[0];
#pragma unroll
      for (int i = 1; i < elements; ++i) most = fmaxf(most, x[i / lanes].lane[i % lanes]);
      most = Share::over_team(most, maxima, greater) * exponent;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < elements; ++i) {
        float& value = x[i / lanes].lane[i % lanes];
        value = power_of_2(fmaf(value, exponent, -most));
        sum = i == 0 ? value : sum + value;
      }
      const float share = reciprocal(Share::over_team(sum, sums, add));
#pragma unroll
      for (int j = 0; j < loads; ++j) {
#pragma unroll
        for (int e = 0; e < lanes; ++e) x[j].lane[e] *= share;
        output[j * team] = x[j];
      }
    }
  }
};

namespace {

std::optional<std::string> mismatch(Arena& arena, std::size_t rows, std::size_t row) {
  constexpr RandomInput<float> input;
  const OncePerRow sum_of([=](std::size_t r) {  // without maxima: float64 holds e^8
    double sum = 0;
    for (std::size_t i = r * row; i < (r + 1) * row; ++i) sum += std::exp(sharpness * input[i]);
    return sum;
  });
  // The tolerance is absolute below 1, and the mean element is 1 / row.
  return arena.first_mismatch<float>(rows * row, 1e-4 / static_cast<double>(row), [&](std::size_t i) {
    return std::exp(sharpness * input[i]) / sum_of(i / row);
  });
}

void add(const rows::Form& form, const Entry& entry) {
  const int elements = form.elements();
  const int shuffles = form.shuffles();  // per maximum and per sum
  const auto row = static_cast<std::size_t>(form.row);
  Instructions instructions{{"LDG." + std::to_string(8 * form.width()), form.loads()},
                            {"STG." + std::to_string(8 * form.width()), form.loads()},
                            {"FFMA", elements},
                            {"FADD", elements - 1 + shuffles},
                            {"FMUL", elements + 1},
                            {"MUFU", elements + 1}};
  if (form.warps() > 1) instructions.insert({{"STS.32", 2}, {"LDS.32", 2}, {"BAR", 2}});
  entry.add({
      .family = "softmax",
      .name = form.name(),
      .form = form.warps() > 1 ? "block" : "warp",
      .dials = form.dials(),
      .ceiling = Ceiling::dram,
      // twice a dependent chain over the elements, shuffles, and in a block shared memory and a barrier
      .iteration = {.dram_bytes = 2.0 * sizeof(float) * elements,
                    .flop = double(flop_per_element) * elements,
                    .latency_cycles =
                        12.0 * elements + 2 * 28.0 * shuffles + (form.warps() > 1 ? 120.0 : 0.0),
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = 2.0 * (elements + 1)},
      .instructions = instructions,
      .may_spill = entry.register_cap > 0,
      .fixed_block_size = form.fixed_block_size(),
      .l2_before = L2::dirty,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            return form.max_iterations(std::min(arena.input_bytes(), arena.output_bytes()), shape);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t rows = form.rows(shape);
            const std::size_t bytes = rows * form.row_bytes();
            Problem problem = problem_of(
                arena,
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)},
                {.bytes = 2.0 * static_cast<double>(bytes),
                 .flop = double(flop_per_element) * static_cast<double>(rows * row)},
                bytes, [=, &arena] { return mismatch(arena, rows, row); });
            problem.reference_covers_timed = true;
            return problem;
          },
  });
}

template <int team, int row, int lanes, int cap = 0>
void add() {
  add({team, row, lanes}, entry_of<Body<team, row, lanes>, cap>());
}

const Registration registered{[] {
  for_each_value<1, 4>([]<int lanes>(std::integral_constant<int, lanes>) {
    add<32, 256, lanes>();
    add<32, 512, lanes>();
    add<32, 1024, lanes>();
    add<128, 1024, lanes>();
    add<256, 1024, lanes>();
  });
  add<32, 2048, 4>();
  // Without a cap nvcc 13 uses 54 registers for 32 elements: 48 and 40 spill a few values.
  add<32, 1024, 4, 48>();
  add<32, 1024, 4, 40>();
}};

}  // namespace

}  // namespace occbench::softmax
