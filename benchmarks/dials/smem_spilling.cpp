// SPDX-License-Identifier: Apache-2.0
// Question: do spills to shared memory cost less than spills to local memory?
//   PTX ISA, 'enable_smem_spilling'.
// Expected: A gain where the loop reloads spilled values and local memory overflows the L1. No effect where
//   only values outside the loop spill. A loss where the shared memory costs blocks: without launch bounds
//   ptxas reserves it for blocks of 1,024 threads. Public reports: 5 to 10 % in one project, none in another.
// Found: H100, H200: as expected. At equal residency spills in the loop gain 8 to 199 %, spills outside alone
//   -0.2 to +0.7 %. Under launch bounds ptxas spills one of the 16 values in the loop, too: placing it in
//   shared memory gains 3 to 6 % with up to 6 blocks per SM, 21 to 29 % with 8. Where the shared memory costs
//   blocks (8 to 5), spills in the loop still gain 14 to 22 %, and those outside lose 28 to 32 %.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment smem_spilling{{
    .name = "smem_spilling",
    .question = "Do spills to shared memory cost less than spills to local memory?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "asked_resident_blocks"},
    .words = {{"update", "updates of 64 values"},
              {"update-hot16", "updates of 16 of 64 values"},
              {"smem-spilling-update", "updates of 64 values that spill to shared memory"},
              {"smem-spilling-update-hot16", "updates of 16 of 64 values that spill to shared memory"},
              {"live_values", ""},
              {"idle_values", ""}},
    .define =
        [](Sweep& sweep) {
          constexpr int block_size = 256;
          constexpr int few_blocks = 2;  // by ballast: shared memory limits both kernels alike
          for (const Variant* v : sweep.variants("register_pressure", "smem-spilling")) {
            if (sweep.is_quick() && v->dials.register_cap != 32) continue;
            for (const Variant* each : {&sweep.variant(v->family, v->baseline), v}) {
              sweep.add({.variant = each, .block_size = block_size});
              if (sweep.at_least(Preset::standard))
                sweep.add({.variant = each, .block_size = block_size, .resident_blocks = few_blocks});
            }
          }
        },
}};

}  // namespace occbench
