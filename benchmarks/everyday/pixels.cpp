// SPDX-License-Identifier: Apache-2.0
// Question: one pixel per thread or four: which block size does an image's filter want?
// Expected: The GPU begins only so many blocks a second: those of 32 threads are slowest, and there four
//   pixels per thread gain most. With larger blocks, four blended pixels per thread reach DRAM's rate at half
//   occupancy. Grey pixels, of 5 bytes each, never reach it with one per thread.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment pixels{{
    .name = "pixels",
    .question = "One pixel per thread or four: which block size does an image's filter want?",
    .dial = "block_size",
    .split_by = {"warps_per_sm"},
    .define =
        [](Sweep& sweep) {
          sweep.add_short_blocks(sweep.variant("pixels", "blend1"));
          sweep.add_short_blocks(sweep.variant("pixels", "blend4"), 4);
          if (sweep.quick()) return;
          sweep.add_short_blocks(sweep.variant("pixels", "luma1"));
          sweep.add_short_blocks(sweep.variant("pixels", "luma4"), 4);
          sweep.add_short_blocks(sweep.variant("pixels", "tone1"));
        },
}};

}  // namespace occbench
