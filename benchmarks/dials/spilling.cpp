// SPDX-License-Identifier: Apache-2.0
// Question: does a register cap gain more occupancy than its spills cost? PMPP 4.7.
// Expected: A cap that spills only values the loop does not use gains warps at no cost. Once values used in
//   the loop spill, each iteration reloads them. With 16 of 64 values in use the best cap is in between;
//   with all 64 it is the one without spills.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment spilling{{
    .name = "spilling",
    .question = "Does a register cap gain more occupancy than its spills cost?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "block_size", "carveout_percent"},
    .words = {{"update", "updates of 64 values"},
              {"update-hot16", "updates of 16 of 64 values"},
              {"live_values", ""},
              {"idle_values", ""}},
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("register_pressure", "update")) {
            // Spills are held in the L1: a large and a small one.
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
