// SPDX-License-Identifier: Apache-2.0
// Question: warps or bodies per thread: what brings all pairs of gravity to full speed? Nyland et al. 2007.
// Expected: The same plateau for all: the issue slots or the FP32 pipe. Four bodies per thread reach it with
//   the fewest warps. A register cap that buys warps beyond that buys nothing.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment nbody{{
    .name = "nbody",
    .question = "Warps or bodies per thread: what brings all pairs of gravity to full speed?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{4, 8, 16, 32, 48};
          if (sweep.quick()) warps = {4, 16};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
          for (const Variant* v : sweep.variants("nbody")) {
            const bool block_of_128 = v->fixed_block_size == 128;
            if (!sweep.quick() || (block_of_128 && v->dials.register_cap == 0))
              sweep.add_resident_warps(
                  *v, v->fixed_block_size,
                  block_of_128 || sweep.at_least(Preset::full) ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
