// SPDX-License-Identifier: Apache-2.0
// Question: is constant memory as fast as shared-memory tiles for data that all threads read at once?
//   PMPP, 5.2 and ch. 17.
// Expected: As fast while warps read the samples in step. The constant cache has 2 KiB (Jia et al. 2018), a
//   tenth of the samples, and uniform loads use less of it. Warps that drift apart evict each other's
//   samples, so more warps are slower. Indexed loads (LDC) suffer less.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment constant_memory{{
    .name = "constant_memory",
    .question = "Is constant memory as fast as shared-memory tiles for data that all threads read?",
    .dial = "warps_per_sm",
    .outside_model = "no parameter says which warps still hit a constant that others evict",
    .words = {{"constant", "reconstructions from constant memory"},
              {"indexed", "reconstructions from indexed constant memory"},
              {"shared", "reconstructions from shared memory"},
              {"ilp", "{} points per thread"}},
    .define =
        [](Sweep& sweep) {
          const bool full = sweep.at_least(Preset::full);
          for (const Variant* v : sweep.variants("mri")) {
            const bool is_shared = v->fixed_block_size > 0;  // for comparison
            const bool is_extreme = v->dials.register_cap == 0 && v->dials.ilp != 2;
            if (is_shared && !(is_extreme && v->fixed_block_size == 128)) continue;
            std::vector<int> warps = is_extreme ? std::vector{4, 8, 16, 32, 64} : std::vector{4, 16, 32};
            if (sweep.is_quick())
              warps = is_extreme && v->dials.ilp == 1 ? std::vector{4, 32} : std::vector<int>{};
            if (full) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
            sweep.add_resident_warps(*v, 128, warps);
            if (is_shared || sweep.is_quick() || !(full || is_extreme)) continue;
            sweep.add_resident_warps(*v, 256, full ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
