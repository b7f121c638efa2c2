// SPDX-License-Identifier: Apache-2.0
// Question: is spilling worth the occupancy that a register cap buys? PMPP 4.7.
// Expected: throughput rises as the cap lets more warps in, then falls as every pass drags its spills along: the best cap
//   is in between, and the same whichever dial set it.
#include "benchmarks/sweep.hpp"

namespace occbench {

const AddExperiment spilling{{
    .name = "spilling",
    .question = "Is spilling worth the occupancy that a register cap buys?",
    .dial = "registers_per_thread",
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("register_pressure", "update")) {
            sweep.add({.variant = v, .block_size = 256});
            if (sweep.at_least(Preset::standard) && v->dials.route != RegisterRoute::launch_bounds)
              sweep.add({.variant = v, .block_size = 128});
          }
        },
}};

}  // namespace occbench
