// SPDX-License-Identifier: Apache-2.0
// Question: more warps or more bytes per thread: what makes 8-bit dequantization fast, where a warp has few
//   bytes in flight? Dettmers et al. 2022; Volkov 2010.
// Expected: DRAM bandwidth with a few warps if loads are wide, and with most warps if they are narrow. More
//   registers for several wide loads gain nothing if warps are available, nor does a cap that spills.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment dequantize{{
    .name = "dequantize",
    .question = "More warps or more bytes per thread: what makes 8-bit dequantization fast?",
    .dial = "warps_per_sm",
    .words = {{"dequantize", "conversions"}},
    .define =
        [](Sweep& sweep) {
          constexpr int narrow[] = {4, 8, 16, 32};
          constexpr int wide[] = {4, 8, 16};
          sweep.add_warps_or_bytes("dequantize", narrow, wide, wide);
        },
}};

}  // namespace occbench
