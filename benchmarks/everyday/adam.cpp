// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does an Adam step need, with four arrays read and three written? Kingma and Ba
//   2015.
// Expected: DRAM bandwidth at half occupancy, even with one narrow access per array. Wide accesses need
//   fewer warps but are not faster.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment adam{{
    .name = "adam",
    .question = "How many warps does an Adam step need, with four arrays read and three written?",
    .dial = "warps_per_sm",
    .words = {{"adam", "optimizer steps"}},
    .define =
        [](Sweep& sweep) {
          constexpr int narrow[] = {8, 16, 32};
          constexpr int wide[] = {4, 8, 16};
          constexpr int quick[] = {8, 16};
          sweep.add_warps_or_bytes("adam", narrow, wide, quick);
        },
}};

}  // namespace occbench
