// SPDX-License-Identifier: Apache-2.0
// Question: is spilling worth the occupancy that a register cap buys? PMPP 4.7.
// Expected: While the spilled values are idle in the loop, a lower cap buys warps for nothing. Once hot
//   values spill, every iteration reloads them. With 16 of 64 values hot the best cap is in between; with all
//   64, at no spill.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment spilling{{
    .name = "spilling",
    .question = "Is spilling worth the occupancy that a register cap buys?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "block_size", "carveout_percent"},
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("register_pressure", "update")) {
            // The spills live in the L1. The second arm takes it away.
            const int large_l1 = sweep.large_l1_carveout();
            constexpr int small_l1 = 100;
            sweep.add({.variant = v, .block_size = 256, .carveout_percent = large_l1});
            if (sweep.at_least(Preset::standard) && v->dials.route != RegisterRoute::launch_bounds)
              for (const int carveout : {large_l1, small_l1})
                sweep.add({.variant = v, .block_size = 128, .carveout_percent = carveout});
          }
        },
}};

}  // namespace occbench
