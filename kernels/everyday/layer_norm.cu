// SPDX-License-Identifier: Apache-2.0
// Shows: two-pass layer normalization of a matrix's rows, each held in registers by a warp or by a block.
// Expected: the bandwidth of a copy. A row per warp needs fewer warps the longer the row, until its
//   registers limit residency; a row per block needs more warps, which wait at two barriers with nothing in
//   flight.
// Published: Ba, Kiros and Hinton, 'Layer normalization' (2016); Volkov 2010 on data in registers.
#include <cmath>

#include "kernels/everyday/rows.cuh"

namespace occbench::layer_norm {

constexpr double epsilon = 1e-5;     // added to the variance
constexpr int flop_per_element = 7;  // sum, difference, square and its sum, quotient, gain, bias

struct Parameters {
  const float* gain;   ///< per column: gamma
  const float* bias;   ///< per column: beta
  const float* input;  ///< row-major
  float* output;       ///< row-major
  int iterations;
};

/// 1 / sqrt(x). Not rsqrtf, which handles denormals: `epsilon` keeps x normal.
__device__ __forceinline__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A row in its team's registers: see rows::Share.
template <int team, int row, int lanes>
struct Body : rows::Share<team, row, lanes> {
  using Parameters = layer_norm::Parameters;
  using Share = rows::Share<team, row, lanes>;
  using typename Share::Pack;
  static constexpr int loads = Share::loads;
  static constexpr int elements = Share::elements;
  static constexpr int warps = Share::warps;

  static __device__ void run(const Parameters& p) {
    __shared__ float sums[warps], squares[warps];
    const int thread = static_cast<int>(threadIdx.x) % team;
    const std::int64_t step = device::thread_count() * loads;
    const std::int64_t at = device::thread_index() / team * (team * loads) + thread;
    const auto add = [](float a, float b) { return a + b; };
    const auto* const gain = reinterpret_cast<const Pack*>(p.gain) + thread;
    const auto* const bias = reinterpret_cast<const Pack*>(p.bias) + thread;
    const auto* input = reinterpret_cast<const Pack*>(p.input) + at;
    auto* output = reinterpret_cast<Pack*>(p.output) + at;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, input += step, output += step) {
      Pack x[loads];
#pragma unroll
      for (int j = 0; j < loads; ++j) x[j] = input[j * team];
      float sum = x[0].lane[0];
#pragma unroll
      for (int i = 1; i < elements; ++i) sum += x[i / lanes].lane[i % lanes];
      const float total = Share::over_team(sum, sums, add);
      float square = 0;
#pragma unroll
      for (int i = 0; i < elements; ++i) {
        float& value = x[i / lanes].lane[i % lanes];
        value = fmaf(total, -1.0F / row, value);  // minus the mean
        square = i == 0 ? value * value : fmaf(value, value, square);
      }
      const float squares_total = Share::over_team(square, squares, add);
      const float scale = inverse_root(fmaf(squares_total, 1.0F / row, static_cast<float>(epsilon)));
      // All loads precede the first store, since nvcc cannot move loads across a store that may alias.
#pragma unroll
      for (int j = 0; j < loads; ++j) {
        const Pack g = gain[j * team];
        const Pack b = bias[j * team];
#pragma unroll
        for (int e = 0; e < lanes; ++e) x[j].lane[e] = fmaf(x[j].lane[e] * scale, g.lane[e], b.lane[e]);
      }
#pragma unroll
      for (int j = 0; j < loads; ++j) output[j * team] = x[j];
    }
  }
};

namespace {

std::optional<std::string> mismatch(Arena& arena, std::size_t rows, std::size_t row) {
  constexpr RandomInput<float> input;  // gains, biases, then the rows
  const OncePerRow moments([=](std::size_t r) {
    const std::size_t first = (2 + r) * row;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = first; i < first + row; ++i) sum += input[i];
    const double mean = sum / static_cast<double>(row);
    for (std::size_t i = first; i < first + row; ++i) squares += (input[i] - mean) * (input[i] - mean);
    return std::pair(mean, 1 / std::sqrt(squares / static_cast<double>(row) + epsilon));
  });
  return arena.first_mismatch<float>(rows * row, 1e-5, [&](std::size_t i) {
    const std::size_t column = i % row;
    const auto& [mean, scale] = moments(i / row);
    return (input[2 * row + i] - mean) * scale * input[column] + input[row + column];
  });
}

void add(const rows::Form& form, const Entry& entry) {
  const int elements = form.elements();
  const int shuffles = form.shuffles();  // per sum and per sum of squares
  const auto row = static_cast<std::size_t>(form.row);
  Dials dials = form.dials();
  dials.working_set_bytes = 2 * form.row_bytes();
  Instructions instructions{{"LDG." + std::to_string(8 * form.width()), 3 * form.loads()},
                            {"STG." + std::to_string(8 * form.width()), form.loads()},
                            {"FFMA", 3 * elements},
                            {"FADD", elements - 1 + 2 * shuffles},
                            {"FMUL", elements + 1},
                            {"MUFU", 1}};
  if (form.warps() > 1) instructions.insert({{"STS.32", 2}, {"LDS.32", 2}, {"BAR", 2}});
  entry.add({
      .family = "layer_norm",
      .name = form.name(),
      .form = form.warps() > 1 ? "block" : "warp",
      .dials = dials,
      .ceiling = Ceiling::dram,
      // two dependent sums with shuffles, gains and biases, and in a block twice shared memory and a barrier
      .iteration = {.dram_bytes = 2.0 * sizeof(float) * elements,
                    .flop = double(flop_per_element) * elements,
                    .latency_cycles =
                        12.0 * elements + 2 * 28.0 * shuffles + 40.0 + (form.warps() > 1 ? 120.0 : 0.0),
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = 4.0 * elements},  // L1: three loads and a store
      // all blocks share gains and biases; the warps of a block load adjacent data
      .flow = {.reused_bytes = 2.0 * sizeof(float) * elements},
      .instructions = instructions,
      .fixed_block_size = form.fixed_block_size(),
      .l2_before = L2::dirty,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            const std::size_t room =
                std::min(arena.input_bytes() - 2 * form.row_bytes(), arena.output_bytes());
            return form.max_iterations(room, shape);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const float* const input = arena.input<float>();
            const std::size_t rows = form.rows(shape);
            const std::size_t bytes = rows * form.row_bytes();
            Problem problem = problem_of(arena,
                                         Parameters{.gain = input,
                                                    .bias = input + row,
                                                    .input = input + 2 * row,
                                                    .output = arena.output<float>(),
                                                    .iterations = static_cast<int>(shape.iterations)},
                                         {.bytes = 2.0 * static_cast<double>(bytes + form.row_bytes()),
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
    for_each_value<256, 512, 1024, 2048>(
        []<int row>(std::integral_constant<int, row>) { add<32, row, lanes>(); });
    for_each_value<1024, 4096, 8192>([]<int row>(std::integral_constant<int, row>) {
      add<128, row, lanes>();
      add<256, row, lanes>();
    });
  });
  // Without a cap nvcc 13 uses 96 registers for 64 elements in narrow accesses: with 80 it loads gains
  // later. It uses 79 for 32 elements in wide accesses: 72 spill, and with 96 it loads gains earlier.
  add<32, 2048, 1, 80>();
  add<32, 1024, 4, 96>();
}};

}  // namespace

}  // namespace occbench::layer_norm
