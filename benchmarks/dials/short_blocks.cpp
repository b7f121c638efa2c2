// SPDX-License-Identifier: Apache-2.0
// Question: which block size is best with one element per thread?
// Expected: With few threads per block the block scheduler is the limit: it starts a fixed number of blocks
//   per second, so half the threads take twice the time at any occupancy. Larger blocks reach the bandwidth
//   of long-running ones if enough bytes are in flight, which takes full occupancy with narrow loads.
//   Blocks of 1,024 lose the time in which one of two is replaced.
// Published: the first kernels of PMPP, ch. 2; McCalpin's STREAM.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment short_blocks{{
    .name = "short_blocks",
    .question = "Which block size is best with one element per thread?",
    .dial = "block_size",
    .split_by = {"warps_per_sm"},
    .words = {{"stencil", "3-point stencils"}},
    .define =
        [](Sweep& sweep) {
          for (const char* const name : {"read-f32-4B-ilp1", "triad-f32-4B-ilp1"})
            sweep.add_short_blocks(sweep.variant("stream", name));
          if (sweep.is_quick()) return;
          for (const char* const name : {"init-f32-4B-ilp1", "scale-f32-4B-ilp1"})
            sweep.add_short_blocks(sweep.variant("stream", name));
          sweep.add_short_blocks(sweep.variant("stencil", "f32-points3"));
        },
}};

}  // namespace occbench
