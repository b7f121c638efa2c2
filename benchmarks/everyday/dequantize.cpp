// SPDX-License-Identifier: Apache-2.0
// Question: of 8-bit weights that become floats a warp has few bytes under way: how many warps, or how wide
//   and how many loads does it take? Dettmers et al. 2022; Volkov 2010.
// Expected: DRAM's rate from a few warps with wide loads, and from most of the warps with single narrow ones.
//   Registers for several wide loads buy nothing where warps can be had; nor does a cap that spills.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment dequantize{{
    .name = "dequantize",
    .question = "Warps or bytes per thread: what does it take to turn 8-bit weights into floats?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int narrow[] = {4, 8, 16, 32};
          constexpr int wide[] = {4, 8, 16};
          sweep.add_warps_or_bytes("dequantize", narrow, wide, wide);
        },
}};

}  // namespace occbench
