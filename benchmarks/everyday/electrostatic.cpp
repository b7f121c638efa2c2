// SPDX-License-Identifier: Apache-2.0
// Question: work per thread or warps: what brings a map of potentials to full speed? Stone et al. 2007; PMPP,
//   ch. 18.
// Expected: More points per thread come nearer to the plateau of the square-root pipe, a third above that of
//   one point. Eight points reach it with the fewest warps, and with fewer yet where the compiler may use
//   more registers.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment electrostatic{{
    .name = "electrostatic",
    .question = "Work per thread or warps: what brings a map of electrostatic potentials to full speed?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{4, 8, 16, 32, 48};
          if (sweep.quick()) warps = {4, 16};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
          for (const Variant* v : sweep.variants("electrostatic")) {
            const Dials& dials = v->dials;
            const bool usual_block = v->fixed_block_size == 128;
            const bool end = dials.ilp == 1 || dials.ilp == 8;
            if (sweep.at_least(Preset::full) || (usual_block && !sweep.quick()))
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
            else if (sweep.quick() ? end && usual_block && dials.register_cap == 0 : end)
              sweep.add_resident_warps(*v, v->fixed_block_size, sweep.quick() ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
