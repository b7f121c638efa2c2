// SPDX-License-Identifier: Apache-2.0
// Question: what does a grid cost that is no whole number of waves, and what a block's end and the next one's
//   begin?
// PMPP 4.2.
// Expected: With one block an SM the time is (waves rounded up) x one block's. That is a sawtooth in
//   throughput; 1 block uses one SM of all. With a full SM, the last wave's few blocks run alone and faster:
//   softer teeth. Short blocks pay for their turnover, which a persistent grid (one wave that does the same
//   iterations) does not.
#include <algorithm>
#include <set>
#include <vector>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

constexpr double microsecond = 1e-6;
constexpr int one_warp_each = 128;  // threads: one warp for each scheduler

/// Grids around every wave boundary up to `waves`, and between them.
void add_sawtooth(Sweep& sweep, const Variant& kernel, int resident_blocks, int waves) {
  const int wave = resident_blocks * sweep.sm().sm_count;
  std::set<int> grids{1, wave / 4, wave / 2};
  for (int w = 1; w <= waves; ++w) {
    grids.insert({w * wave - 1, w * wave, w * wave + 1});
    if (!sweep.quick() && w < waves) grids.insert(w * wave + wave / 2);
  }
  for (const int grid : grids)
    if (grid > 0)  // an offline device may not say how many SMs it has
      sweep.add({.curve = "partial waves",
                 .variant = &kernel,
                 .block_size = one_warp_each,
                 .resident_blocks = resident_blocks,
                 .grid_size = grid,
                 .block_s = 200 * microsecond});
}

/// Blocks that take 1 us to 1 ms, `waves` of them one after another, and beside them one wave that does it
/// all. `least_us`: a block's one iteration takes that long.
void add_turnover(Sweep& sweep, const Variant& kernel, int resident_blocks, int least_us) {
  constexpr int whole_us = 1024;
  std::vector<int> block_us{1, 4, 16, 64, 256, 1024};
  if (sweep.quick()) block_us = {4, 64};
  if (sweep.at_least(Preset::full)) block_us = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  for (const int us : block_us)
    if (us >= least_us)
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
    .question = "What does a last, partial wave cost, and what the turnover from block to block?",
    .dial = "waves",
    .split_by = {"blocks_per_sm"},
    .define =
        [](Sweep& sweep) {
          // Alone on its scheduler a warp of this chain issues every fourth cycle, so each block takes
          // exactly as long as any other. With two such warps, or ILP, blocks differ by percents, and the
          // slowest SM decides.
          const Variant& kernel = sweep.variant("fma_chain", "two-operand-ilp1");
          const int full = sweep.sm().max_threads_per_sm / one_warp_each;
          add_sawtooth(sweep, kernel, 1, sweep.quick() ? 2 : sweep.at_least(Preset::full) ? 10 : 5);
          if (sweep.at_least(Preset::standard)) add_sawtooth(sweep, kernel, full, 3);
          add_turnover(sweep, kernel, 1, 1);
          if (sweep.at_least(Preset::standard)) add_turnover(sweep, kernel, full, 4);
        },
}};

}  // namespace occbench
