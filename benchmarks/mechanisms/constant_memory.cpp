// SPDX-License-Identifier: Apache-2.0
// Question: all threads want the same sample at once. Does constant memory feed them as well as tiles in
//   shared memory? PMPP, 5.2 and ch. 17.
// Expected: As fast as shared memory while warps walk through the samples together. The constant cache has 2
//   KiB (Jia et al. 2018), a tenth of the samples, and uniform loads find even less. Warps that drift apart
//   evict each other's samples, so more warps are slower. Indexed loads, by each lane's address, suffer less.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment constant_memory{{
    .name = "constant_memory",
    .question = "Does constant memory feed warps as well as tiles in shared memory do?",
    .dial = "warps_per_sm",
    .outside_model = "no parameter says which warps still hit a constant that others evict",
    .define =
        [](Sweep& sweep) {
          const bool full = sweep.at_least(Preset::full);
          for (const Variant* v : sweep.variants("mri")) {
            const bool shared = v->fixed_block_size > 0;  // to compare with
            const bool end = v->dials.register_cap == 0 && v->dials.ilp != 2;
            if (shared && !(end && v->fixed_block_size == 128)) continue;
            std::vector<int> warps = end ? std::vector{4, 8, 16, 32, 64} : std::vector{4, 16, 32};
            if (sweep.quick()) warps = end && v->dials.ilp == 1 ? std::vector{4, 32} : std::vector<int>{};
            if (full) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
            sweep.add_resident_warps(*v, 128, warps);
            if (shared || sweep.quick() || !(full || end)) continue;
            sweep.add_resident_warps(*v, 256, full ? warps : std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
