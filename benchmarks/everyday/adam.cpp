// SPDX-License-Identifier: Apache-2.0
// Question: an optimizer's step reads four arrays and writes three: how many warps does it take? Kingma and
//   Ba 2015.
// Expected: DRAM's rate with half of the warps, even with one narrow access to each array. Wide accesses get
//   there with fewer warps, but are no faster.
#include "benchmarks/sweep.hpp"

namespace occbench {

const AddExperiment adam{{
    .name = "adam",
    .question = "How many warps does an optimizer's step take, which reads four arrays and writes three?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int every[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          constexpr int of_narrow[] = {8, 16, 32};
          constexpr int of_wide[] = {4, 8, 16};
          constexpr int few[] = {8, 16};
          for (const Variant* v : sweep.variants("adam")) {
            const Dials& dials = v->dials;
            const bool wide = dials.bytes_per_access == 16;
            const bool end = dials.register_cap == 0 && dials.ilp == (wide ? 4 : 1);
            if (sweep.at_least(Preset::full)) {
              for (const int block_size : {128, 256}) sweep.add_resident_warps(*v, block_size, every);
            } else if (sweep.quick()) {
              if (end) sweep.add_resident_warps(*v, 128, few);
            } else {
              sweep.add_resident_warps(*v, 128, wide ? of_wide : of_narrow);
              sweep.add({.variant = v, .block_size = 128});  // as many as their registers let reside
              if (end) sweep.add_resident_warps(*v, 256, few);
            }
          }
        },
}};

}  // namespace occbench
