// SPDX-License-Identifier: Apache-2.0
// Question: do spills to shared memory cost less than spills to local memory?
//   PTX ISA, 'enable_smem_spilling'.
// Expected: A gain where the loop reloads spilled values. Where only values outside the loop spill, a gain
//   only if local memory overflows the L1, and a loss where the shared memory costs blocks: without launch
//   bounds ptxas reserves it for blocks of 1,024 threads.
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
            if (sweep.quick() && v->dials.register_cap != 32) continue;
            for (const Variant* each : {&sweep.variant(v->family, v->baseline), v}) {
              sweep.add({.variant = each, .block_size = block_size});
              if (sweep.at_least(Preset::standard))
                sweep.add({.variant = each, .block_size = block_size, .resident_blocks = few_blocks});
            }
          }
        },
}};

}  // namespace occbench
