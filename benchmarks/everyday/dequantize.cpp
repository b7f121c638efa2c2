// SPDX-License-Identifier: Apache-2.0
// Question: of 8-bit weights that become floats a warp has few bytes under way: how many warps, or how wide
//   and how many loads does it take? Dettmers et al. 2022; Volkov 2010.
// Expected: DRAM's rate from a few warps with wide loads, and from most of the warps with single narrow ones.
//   Registers for several wide loads buy nothing where warps can be had; nor does a cap that spills.
#include "benchmarks/sweep.hpp"

namespace occbench {

const AddExperiment dequantize{{
    .name = "dequantize",
    .question = "Warps or bytes per thread: what does it take to turn 8-bit weights into floats?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int every[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          const std::vector of_narrow{4, 8, 16, 32};
          const std::vector of_wide{4, 8, 16};
          constexpr int few[] = {8, 16};
          for (const Variant* v : sweep.variants("dequantize")) {
            const Dials& dials = v->dials;
            const bool wide = dials.bytes_per_access == 16;
            const bool end = dials.register_cap == 0 && dials.ilp == (wide ? 4 : 1);
            if (sweep.at_least(Preset::full)) {
              for (const int block_size : {128, 256}) sweep.add_resident_warps(*v, block_size, every);
            } else if (sweep.quick()) {
              if (end) sweep.add_resident_warps(*v, 128, of_wide);
            } else {
              sweep.add_resident_warps(*v, 128, wide ? of_wide : of_narrow);
              sweep.add({.variant = v, .block_size = 128});  // as many as their registers let reside
              if (end) sweep.add_resident_warps(*v, 256, few);
            }
          }
        },
}};

}  // namespace occbench
