// SPDX-License-Identifier: Apache-2.0
// Question: registers or warps: what does a lattice-Boltzmann step need, which streams 9 or 19 arrays and
//   keeps each value in a register? Toelke and Krafczyk 2008; Wellein et al. 2006; Lehmann et al. 2022.
// Expected: DRAM bandwidth with few warps, since all loads of a site are in flight at once. 19 arrays
//   need fewer warps than 9, and several sites per thread fewer still. A cap that spills adds unneeded warps
//   and extra traffic.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment lattice_boltzmann{{
    .name = "lattice_boltzmann",
    .question = "Registers or warps: what does a lattice-Boltzmann step with 9 or 19 arrays need?",
    .dial = "warps_per_sm",
    .words = {{"d2q9", "D2Q9 steps"}, {"d3q19", "D3Q19 steps"}, {"ilp", "{} sites per thread"}},
    .define =
        [](Sweep& sweep) {
          constexpr int all_warps[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          const std::vector warps_of_one{8, 16, 32};
          const std::vector warps_of_several{4, 8, 16};
          constexpr int few_warps[] = {8, 16};
          for (const Variant* v : sweep.variants("lattice_boltzmann")) {
            const bool is_one_site = v->dials.ilp == 1;
            const bool is_extreme = v->name == "d2q9-sites1" || v->name == "d3q19-sites2";
            if (sweep.at_least(Preset::full)) {
              sweep.add_resident_warps(*v, 128, all_warps);
              if (v->dials.register_cap == 0) sweep.add_resident_warps(*v, 256, few_warps);
            } else if (sweep.is_quick()) {
              if (is_extreme) sweep.add_resident_warps(*v, 128, few_warps);
            } else {
              sweep.add_resident_warps(*v, 128, is_one_site ? warps_of_one : warps_of_several);
              sweep.add({.variant = v, .block_size = 128});  // as many warps as registers allow
              if (is_extreme) sweep.add_resident_warps(*v, 256, few_warps);
            }
          }
        },
}};

}  // namespace occbench
