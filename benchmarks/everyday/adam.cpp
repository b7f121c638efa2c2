// SPDX-License-Identifier: Apache-2.0
// Question: an optimizer's step reads four arrays and writes three: how many warps does it take? Kingma and
//   Ba 2015.
// Expected: DRAM's rate with half of the warps, even with one narrow access to each array. Wide accesses get
//   there with fewer warps, but are no faster.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment adam{{
    .name = "adam",
    .question = "How many warps does an optimizer's step take, which reads four arrays and writes three?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int narrow[] = {8, 16, 32};
          constexpr int wide[] = {4, 8, 16};
          constexpr int quick[] = {8, 16};
          sweep.add_warps_or_bytes("adam", narrow, wide, quick);
        },
}};

}  // namespace occbench
