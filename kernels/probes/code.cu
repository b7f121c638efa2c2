// SPDX-License-Identifier: Apache-2.0
// Shows: the capacity of the instruction caches and the cost of a line from the next level: loops of FMAs of
//   all lengths.
// Expected: cc 9.0: 8 cycles per line up to 32 KB, 19 up to 128 KB, 46 beyond.
// Published: Jia et al. (2018, Volta), who find 12 KB and 128 KB there.
#include <cmath>

#include "kernels/calibration/calibration.cuh"

namespace occbench::probes {

using calibration::Parameters;

constexpr int line_instructions = 8;  // 128 bytes
constexpr int chains = 8;             // enough to hide the FMA latency

/// A loop of `lines` lines of FMAs, plus one for counter and branch.
template <int lines>
struct Code {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x[chains];
#pragma unroll
    for (int j = 0; j < chains; ++j) x[j] = calibration::chain_start(index, j);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < lines; ++i) {
#pragma unroll
        for (int j = 0; j < chains; ++j) x[j] = fmaf(-x[j], x[j], calibration::drift);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < chains; ++j) sum += x[j];
    p.output[index] = sum;
  }
};

namespace {

template <int lines>
void add_code() {
  static_assert(chains == line_instructions);
  calibration::add({.name = "code-" + std::to_string(lines),
                    .family = "probes",
                    .iteration = {.flop = 2.0 * chains * lines, .latency_cycles = 16.0 * lines},
                    .instructions = {{"FFMA", chains * lines}},
                    .operations = chains * lines,
                    .reference =
                        [](const float*, int iterations) {
                          return calibration::of_each_lane([=](int thread) {
                            float sum = 0;
                            for (int j = 0; j < chains; ++j)
                              sum += calibration::chain_after(thread, j, std::int64_t{iterations} * lines);
                            return sum;
                          });
                        },
                    .entry = reinterpret_cast<const void*>(free_entry<Code<lines>>)});
}

const Registration code_kernels{[] {
  for_each_value<128, 224, 240, 272, 288, 512, 896, 960, 1088, 1152, 1536>(
      []<int lines>(std::integral_constant<int, lines>) { add_code<lines>(); });
}};

}  // namespace

}  // namespace occbench::probes
