// SPDX-License-Identifier: Apache-2.0
// Question: a step of a lattice-Boltzmann fluid streams 9 or 19 arrays in and out and holds a register for
//   each value: does it want registers or warps? Toelke and Krafczyk 2008; Wellein et al. 2006; Lehmann et
//   al. 2022.
// Expected: DRAM's rate from few warps, as each has a site's loads in flight at once. 19 arrays need fewer
//   warps than 9, and several sites per thread fewer again. A cap that spills brings warps that are not
//   needed, and traffic of its own.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment lattice_boltzmann{{
    .name = "lattice_boltzmann",
    .question = "Registers or warps: what does a step of a lattice-Boltzmann fluid take, of 9 or 19 arrays?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int every[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          const std::vector of_one{8, 16, 32};
          const std::vector of_several{4, 8, 16};
          constexpr int few[] = {8, 16};
          for (const Variant* v : sweep.variants("lattice_boltzmann")) {
            const bool one = v->dials.ilp == 1;
            const bool end = v->name == "d2q9-sites1" || v->name == "d3q19-sites2";
            if (sweep.at_least(Preset::full)) {
              sweep.add_resident_warps(*v, 128, every);
              if (v->dials.register_cap == 0) sweep.add_resident_warps(*v, 256, few);
            } else if (sweep.quick()) {
              if (end) sweep.add_resident_warps(*v, 128, few);
            } else {
              sweep.add_resident_warps(*v, 128, one ? of_one : of_several);
              sweep.add({.variant = v, .block_size = 128});  // as many as their registers let reside
              if (end) sweep.add_resident_warps(*v, 256, few);
            }
          }
        },
}};

}  // namespace occbench
