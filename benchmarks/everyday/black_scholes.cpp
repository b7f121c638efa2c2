// SPDX-License-Identifier: Apache-2.0
// Question: does an elementwise kernel at the cusp want warps, options per thread, or registers? Podlozhnyuk
//   2007; Volkov 2010.
// Expected: DRAM's rate for all variants: from most of the warps with one option per thread, from about half
//   with four. A compiler that saves registers delays loads, and so needs more warps than one that spends
//   them.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment black_scholes{{
    .name = "black_scholes",
    .question = "Does an elementwise kernel at the cusp want warps, options per thread, or registers?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{8, 16, 32, 48, 64};
          if (sweep.quick()) warps = {8, 64};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          for (const Variant* v : sweep.variants("black_scholes")) {
            const bool free = v->dials.register_cap == 0;
            if (sweep.quick() ? free && v->dials.ilp != 2 : true) sweep.add_resident_warps(*v, 128, warps);
            if (sweep.at_least(Preset::full))
              sweep.add_resident_warps(*v, 256, warps);
            else if (!sweep.quick() && free)
              sweep.add_resident_warps(*v, 256, std::vector{16, 32, 64});
          }
        },
}};

}  // namespace occbench
