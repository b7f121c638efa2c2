// SPDX-License-Identifier: Apache-2.0
// Question: what does one element per thread cost, and does the size of its many short blocks matter?
// Expected: with few threads in a block the GPU is busy dealing blocks. It begins so many a second whatever
//   they do. Half the threads then take twice the time, and resident warps do not matter. Larger blocks are
//   as fast as long ones where an SM keeps enough bytes in flight. With narrow loads that takes full
//   occupancy. Blocks of 1,024 lose the time in which one of two is replaced.
// Published: the course text's first kernels, PMPP ch. 2; McCalpin's STREAM.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment short_blocks{{
    .name = "short_blocks",
    .question = "What does one element per thread cost, and which block size does it want?",
    .dial = "block_size",
    .split_by = {"warps_per_sm"},
    .define =
        [](Sweep& sweep) {
          for (const char* const name : {"read-f32-4B-ilp1", "triad-f32-4B-ilp1"})
            sweep.add_short_blocks(sweep.variant("stream", name));
          if (sweep.quick()) return;
          for (const char* const name : {"init-f32-4B-ilp1", "scale-f32-4B-ilp1"})
            sweep.add_short_blocks(sweep.variant("stream", name));
          sweep.add_short_blocks(sweep.variant("stencil", "f32-points3"));
        },
}};

}  // namespace occbench
