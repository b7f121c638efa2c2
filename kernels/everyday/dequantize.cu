// SPDX-License-Identifier: Apache-2.0
// Shows: dequantization of 8-bit weights, as in inference: a byte in and four out, with a scale and a zero
//   per group.
// Expected: DRAM bandwidth, four fifths of it writes. Narrow loads have few bytes in flight per warp and
//   need many warps or several loads per thread; wide loads need few warps.
// Published: Dettmers et al., 'LLM.int8(): 8-bit matrix multiplication for transformers at scale' (NeurIPS
//   2022); GGML's Q8_0; Volkov 2010.
#include "kernels/family.cuh"

namespace occbench::dequantize {

constexpr int warp_size = 32;
constexpr int word_weights = 4;                          // bytes of a word: one 16-byte store
constexpr int group_weights = warp_size * word_weights;  // one store of a warp; they share a scale and a zero
constexpr int flop_per_weight = 2;                       // subtraction and multiplication
constexpr std::size_t max_weights = std::size_t{1} << 30;  // indexed by int

/// Dequantization of weight q of a group: scale * (q - zero).
struct alignas(8) Group {
  float scale;
  float zero;
};
constexpr double dram_bytes_per_weight = 1 + sizeof(float) + double{sizeof(Group)} / group_weights;

struct Parameters {
  const std::uint32_t* weights;  ///< signed bytes, four to a word
  const Group* groups;
  float* output;
  int iterations;
};

/// Thread t of n loads packs t, t + n, t + 2n, ..., `ilp` of them at once. A warp's packs are `words`
/// groups, reordered offline as inference engines do: word k of each pack belongs to group k, so the warp
/// stores whole groups.
template <int words, int ilp>
struct Body {
  using Parameters = dequantize::Parameters;

  /// A thread's share of `words` groups, loaded as one access.
  struct alignas(sizeof(std::uint32_t) * words) Pack {
    std::uint32_t word[words];
  };
  /// Their scales and zeros, the same for all lanes of a warp.
  struct alignas(words == 1 ? 8 : 16) Groups {
    Group group[words];
  };

  static __device__ float4 floats(std::uint32_t word, const Group& group) {
    const auto value = [&](int i) {
      const auto weight = static_cast<std::int8_t>(word >> 8 * i);
      return group.scale * (static_cast<float>(weight) - group.zero);
    };
    return {value(0), value(1), value(2), value(3)};
  }

  static __device__ void run(const Parameters& p) {
    const auto* const weights = reinterpret_cast<const Pack*>(p.weights);
    const auto* const groups = reinterpret_cast<const Groups*>(p.groups);
    auto* const output = reinterpret_cast<float4*>(p.output);
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto n = static_cast<int>(device::thread_count() / warp_size);
    auto at = static_cast<int>(device::thread_index() / warp_size);  // in packs of a warp
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += ilp * n) {
      Pack q[ilp];
      Groups g[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
        q[j] = weights[(at + j * n) * warp_size + lane];
        g[j] = groups[at + j * n];
      }
#pragma unroll
      for (int j = 0; j < ilp; ++j)
#pragma unroll
        for (int k = 0; k < words; ++k)
          output[((at + j * n) * words + k) * warp_size + lane] = floats(q[j].word[k], g[j].group[k]);
    }
  }
};

namespace {

/// Word i is mix(i).
__global__ void fill_words(std::uint32_t* words, std::size_t count) {
  const auto step = static_cast<std::size_t>(device::thread_count());
  for (auto i = static_cast<std::size_t>(device::thread_index()); i < count; i += step)
    words[i] = mix(static_cast<std::uint32_t>(i));
}

/// As many random weights as the output has elements.
const std::uint32_t* weights_of(Arena& arena) {
  return arena.table<std::uint32_t>("dequantize", arena.output_bytes() / sizeof(float) / word_weights,
                                    [](std::uint32_t* words, std::size_t count, cudaStream_t stream) {
                                      fill_words<<<1024, 256, 0, stream>>>(words, count);
                                      check(cudaGetLastError(), "filling quantized weights");
                                    });
}

/// Element `i` of the output for packs of `words` words.
double reference(std::size_t i, std::size_t words) {
  const std::size_t group = i / group_weights;
  const std::size_t lane = i % group_weights / word_weights;
  const std::size_t word = (group / words * warp_size + lane) * words + group % words;
  const auto weight =
      static_cast<std::int8_t>(mix(static_cast<std::uint32_t>(word)) >> 8 * (i % word_weights));
  const double scale = random_value<float>(2 * group);
  const double zero = random_value<float>(2 * group + 1);
  return scale * (weight - zero);
}

template <int words, int ilp, int cap = 0>
void add() {
  constexpr int width = words * static_cast<int>(sizeof(std::uint32_t));
  constexpr int weights = words * word_weights * ilp;  // per thread and iteration
  const auto weights_in = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * weights;
  };
  // A warp reads `words` L1 lines of weights, and one line of scales and zeros in `group_loads` loads.
  constexpr int group_loads = words == 1 ? 1 : words / 2;
  constexpr int group_load_bytes = words == 1 ? 8 : 16;
  constexpr double lines = words + group_loads;
  constexpr double min_lines = words + 2 * words;  // if all lanes loaded different data
  Instructions instructions{{"STG.128", words * ilp},
                            {"FADD", weights},
                            {"FMUL", weights},
                            {"LDG." + std::to_string(8 * width), ilp}};
  instructions[words == 1 ? "LDG.64" : "LDG.128"] += group_loads * ilp;
  entry_of<Body<words, ilp>, cap>().add({
      .family = "dequantize",
      .name = std::to_string(width) + "B-ilp" + std::to_string(ilp),
      .dials = {.data_type = "i8", .ilp = ilp, .bytes_per_access = width},
      .ceiling = Ceiling::dram,
      // the dependent chain of one weight, and the issue of the others'
      .iteration = {.dram_bytes = dram_bytes_per_weight * weights,
                    .flop = double{flop_per_weight} * weights,
                    .latency_cycles = 30.0 + 8.0 * weights,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = 2.0 * weights},  // of conversions
      // All lanes load the same scale and zero, and 16 adjacent warps the same line: DRAM serves it once for
      // all.
      .flow = {.shared_bytes = 1.0 * group_loads * group_load_bytes * ilp,
               .layout = {.lines = lines / min_lines}},
      .instructions = instructions,
      .may_spill = words == 4 && cap == 40,
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            const std::size_t room = std::min(arena.output_bytes() / sizeof(float),
                                              arena.input_bytes() / sizeof(Group) * group_weights);
            return static_cast<std::int64_t>(std::min(room, max_weights) / weights) / shape.threads();
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t n = weights_in(shape);
            return problem_of<float>(
                arena,
                Parameters{.weights = weights_of(arena),
                           .groups = reinterpret_cast<const Group*>(arena.input<float>()),
                           .output = arena.output<float>(),
                           .iterations = static_cast<int>(shape.iterations)},
                {.bytes = dram_bytes_per_weight * static_cast<double>(n),
                 .flop = double{flop_per_weight} * static_cast<double>(n)},
                n, 1e-6, [](std::size_t i) { return reference(i, words); });
          },
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 4>([]<int ilp>(std::integral_constant<int, ilp>) {
    add<1, ilp>();
    add<4, ilp>();
  });
  // Without a cap nvcc 13 uses 68 and 55 registers: 64 allow four more warps, and 40 twelve, but with spills.
  add<4, 4, 64>();
  add<4, 2, 40>();
}};

}  // namespace

}  // namespace occbench::dequantize
