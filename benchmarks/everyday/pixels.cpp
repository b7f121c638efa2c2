// SPDX-License-Identifier: Apache-2.0
// Question: one pixel per thread or four: which block size is best for an image filter?
// Expected: Block starts per second are limited: blocks of 32 threads are slowest and gain most from four
//   pixels per thread. With larger blocks, blending four pixels per thread reaches DRAM bandwidth at half
//   occupancy. Grey pixels of 5 bytes never reach it with one per thread.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment pixels{{
    .name = "pixels",
    .question = "One pixel per thread or four: which block size is best for an image filter?",
    .dial = "block_size",
    .split_by = {"warps_per_sm"},
    .words = {{"tone", "tone curves"}, {"luma", "luma conversions"}, {"blend", "blends"}},
    .define =
        [](Sweep& sweep) {
          sweep.add_short_blocks(sweep.variant("pixels", "blend1"));
          sweep.add_short_blocks(sweep.variant("pixels", "blend4"), 4);
          if (sweep.is_quick()) return;
          sweep.add_short_blocks(sweep.variant("pixels", "luma1"));
          sweep.add_short_blocks(sweep.variant("pixels", "luma4"), 4);
          sweep.add_short_blocks(sweep.variant("pixels", "tone1"));
        },
}};

}  // namespace occbench
