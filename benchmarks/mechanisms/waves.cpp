// SPDX-License-Identifier: Apache-2.0
// Question: what does a partial last wave cost, and what does block turnover cost? PMPP 4.2.
// Expected: With one block per SM the time is (waves rounded up) x the time of a block: a sawtooth in
//   throughput; 1 block uses one SM. On a full SM the few blocks of the last wave run alone and faster, so
//   the teeth are softer. Short blocks pay for turnover, which a persistent grid (one wave with the same
//   iterations) avoids.
#include <algorithm>
#include <set>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

constexpr double microsecond = 1e-6;
constexpr int one_warp_each = 128;  // threads: one warp per scheduler

/// Adds grids at and between the wave boundaries up to `waves`.
void add_sawtooth(Sweep& sweep, const Variant& kernel, int resident_blocks, int waves) {
  const int wave = resident_blocks * sweep.sm().sm_count;
  std::set<int> grids{1, wave / 4, wave / 2};
  for (int w = 1; w <= waves; ++w) {
    grids.insert({w * wave - 1, w * wave, w * wave + 1});
    if (!sweep.is_quick() && w < waves) grids.insert(w * wave + wave / 2);
  }
  for (const int grid : grids)
    if (grid > 0)  // an offline device may have an unknown number of SMs
      sweep.add({.curve = "partial waves",
                 .variant = &kernel,
                 .block_size = one_warp_each,
                 .resident_blocks = resident_blocks,
                 .grid_size = grid,
                 .block_s = 200 * microsecond});
}

/// Adds waves of blocks of 1 us to 1 ms, and a single wave with the same total work. `min_us`: time of one
/// iteration of a block.
void add_turnover(Sweep& sweep, const Variant& kernel, int resident_blocks, int min_us) {
  constexpr int whole_us = 1024;
  const auto block_us =
      sweep.by_preset({4, 64}, {1, 4, 16, 64, 256, 1024}, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024});
  for (const int us : block_us)
    if (us >= min_us)
      sweep.add({.curve = "whole waves of short blocks",
                 .variant = &kernel,
                 .block_size = one_warp_each,
                 .resident_blocks = resident_blocks,
                 .waves = std::max(2, whole_us / us),
                 .block_s = us * microsecond});
  for (const int us : {whole_us, 2 * whole_us})
    if (us == whole_us || block_us.back() == whole_us)
      sweep.add({.curve = "whole waves of short blocks",
                 .variant = &kernel,
                 .block_size = one_warp_each,
                 .resident_blocks = resident_blocks,
                 .block_s = us * microsecond});
}

}  // namespace

const AddExperiment waves{{
    .name = "waves",
    .question = "What does a partial last wave cost, and what does block turnover cost?",
    .dial = "waves",
    .split_by = {"blocks_per_sm"},
    .words = {{"two-operand", "FMA chains"}},
    .define =
        [](Sweep& sweep) {
          // A lone warp of this chain issues every fourth cycle, so all blocks take the same time. With two
          // warps per scheduler, or with ILP, times vary by per cents.
          const Variant& kernel = sweep.variant("fma_chain", "two-operand-ilp1");
          const int full = sweep.sm().max_threads_per_sm / one_warp_each;
          add_sawtooth(sweep, kernel, 1, sweep.is_quick() ? 2 : sweep.at_least(Preset::full) ? 10 : 5);
          if (sweep.at_least(Preset::standard)) add_sawtooth(sweep, kernel, full, 3);
          add_turnover(sweep, kernel, 1, 1);
          if (sweep.at_least(Preset::standard)) add_turnover(sweep, kernel, full, 4);
        },
}};

}  // namespace occbench
