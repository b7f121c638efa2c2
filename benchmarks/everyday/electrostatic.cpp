// SPDX-License-Identifier: Apache-2.0
// Question: more work per thread or more warps: what makes an electrostatic potential map fast? Stone et
//   al. 2007; PMPP, ch. 18.
// Expected: More points per thread approach the limit of the square-root unit, a third above one point per
//   thread. Eight points need the fewest warps, and fewer still with more registers.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment electrostatic{{
    .name = "electrostatic",
    .question = "More work per thread or more warps: what makes an electrostatic map fast?",
    .dial = "warps_per_sm",
    .words = {{"electrostatic", "potential maps"}, {"ilp", "{} points per thread"}},
    .define =
        [](Sweep& sweep) {
          const auto warps =
              sweep.by_preset({4, 16}, {4, 8, 16, 32, 48}, {4, 8, 12, 16, 20, 24, 32, 40, 48, 64});
          for (const Variant* v : sweep.variants("electrostatic")) {
            const Dials& dials = v->dials;
            const bool is_main_block = v->fixed_block_size == 128;
            const bool is_extreme = dials.ilp == 1 || dials.ilp == 8;
            if (sweep.at_least(Preset::full) || (is_main_block && !sweep.is_quick()))
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
            else if (sweep.is_quick() ? is_extreme && is_main_block && dials.register_cap == 0 : is_extreme)
              sweep.add_resident_warps(*v, v->fixed_block_size,
                                       sweep.is_quick() ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
