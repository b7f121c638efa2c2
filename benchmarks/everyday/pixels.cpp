// SPDX-License-Identifier: Apache-2.0
// Question: one pixel per thread or four: which block size does an image's filter want?
// Expected: The GPU begins only so many blocks a second: those of 32 threads are slowest, and there four
//   pixels per thread gain most. With larger blocks, four blended pixels per thread reach DRAM's rate at half
//   occupancy. Grey pixels, of 5 bytes each, never reach it with one per thread.
#include <algorithm>
#include <set>
#include <vector>

#include "benchmarks/sweep.hpp"

namespace occbench {

namespace {

constexpr double one_pass_s = 1e-9;
constexpr int pixels_per_sm = 480 * 2048;  // in all: 130 million on 132 SMs

/// Blocks of one pass per thread, as many whole waves as it takes for an SM to have had that many pixels.
void add_short(Sweep& sweep, const Variant& kernel, int pixels, int block, int blocks) {
  sweep.add({.variant = &kernel,
             .block_size = block,
             .resident_blocks = blocks,
             .waves = pixels_per_sm / (blocks * block * pixels),
             .block_s = one_pass_s});
}

}  // namespace

const AddExperiment pixels{{
    .name = "pixels",
    .question = "One pixel per thread or four: which block size does an image's filter want?",
    .dial = "block_size",
    .parted_by = {"warps_per_sm"},
    .define =
        [](Sweep& sweep) {
          std::vector<int> blocks{32, 64, 128, 256, 512, 1024};
          if (sweep.quick()) blocks = {32, 128, 1024};
          for (const int block : blocks) {
            const int most = std::min(sweep.sm().max_threads_per_sm / block, sweep.sm().max_blocks_per_sm);
            std::set<int> resident{most};
            if (sweep.at_least(Preset::full) || (block == 128 && !sweep.quick()))
              for (const int warps : {16, 32}) resident.insert(std::min(most, warps * 32 / block));
            resident.erase(0);
            for (const int n : resident) {
              add_short(sweep, sweep.variant("pixels", "blend1"), 1, block, n);
              add_short(sweep, sweep.variant("pixels", "blend4"), 4, block, n);
              if (sweep.quick()) continue;
              add_short(sweep, sweep.variant("pixels", "luma1"), 1, block, n);
              add_short(sweep, sweep.variant("pixels", "luma4"), 4, block, n);
              add_short(sweep, sweep.variant("pixels", "tone1"), 1, block, n);
            }
          }
        },
}};

}  // namespace occbench
