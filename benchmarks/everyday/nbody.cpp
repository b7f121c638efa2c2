// SPDX-License-Identifier: Apache-2.0
// Question: warps or bodies per thread: what makes an all-pairs n-body step fast? Nyland et al. 2007.
// Expected: All variants reach the same limit, the issue slots or the FP32 pipe. Four bodies per thread
//   need the fewest warps. A register cap that adds warps beyond that gains nothing.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment nbody{{
    .name = "nbody",
    .question = "Warps or bodies per thread: what makes an all-pairs n-body step fast?",
    .dial = "warps_per_sm",
    .words = {{"nbody", "all-pairs sums"}, {"ilp", "{} bodies per thread"}},
    .define =
        [](Sweep& sweep) {
          const auto warps =
              sweep.by_preset({4, 16}, {4, 8, 16, 32, 48}, {4, 8, 12, 16, 20, 24, 32, 40, 48, 64});
          for (const Variant* v : sweep.variants("nbody")) {
            const bool is_block_128 = v->fixed_block_size == 128;
            if (!sweep.is_quick() || (is_block_128 && v->dials.register_cap == 0))
              sweep.add_resident_warps(
                  *v, v->fixed_block_size,
                  is_block_128 || sweep.at_least(Preset::full) ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
