// SPDX-License-Identifier: Apache-2.0
// Question: warps or points per thread: what makes an MRI reconstruction's sines and cosines fast? Stone et
//   al. 2008; PMPP, ch. 17.
// Expected: All variants reach the special-function rate. More points per thread need fewer warps if their
//   chains are interleaved. Samples in constant memory are the subject of experiment constant_memory.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment mri{{
    .name = "mri",
    .question = "Warps or points per thread: what makes an MRI reconstruction fast?",
    .dial = "warps_per_sm",
    .words = {{"shared", "reconstructions"}, {"ilp", "{} points per thread"}},
    .define =
        [](Sweep& sweep) {
          const bool full = sweep.at_least(Preset::full);
          for (const Variant* v : sweep.variants("mri")) {
            if (v->fixed_block_size == 0) continue;  // from constant memory
            const bool is_extreme = v->dials.register_cap == 0 && v->dials.ilp != 2;
            std::vector<int> warps = is_extreme ? std::vector{4, 8, 16, 32, 64} : std::vector{4, 16, 32};
            if (sweep.is_quick()) warps = is_extreme ? std::vector{4, 16} : std::vector<int>{};
            if (full) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
            if (v->fixed_block_size == 128) sweep.add_resident_warps(*v, 128, warps);
            if (v->fixed_block_size == 128 || sweep.is_quick()) continue;
            sweep.add_resident_warps(*v, 256, full ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
