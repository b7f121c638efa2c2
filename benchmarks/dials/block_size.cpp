// SPDX-License-Identifier: Apache-2.0
// Question: which block size is best if residency follows from it? PMPP 4.7.
// Expected: A kernel that needs warps dips at sizes that leave warp slots empty: 32 (block limit), 96, 352,
//   544 and 704. Other kernels are flat.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment block_size{{
    .name = "block_size",
    .question = "Which block size is best if residency follows from it?",
    .dial = "block_size",
    .scale = Scale::best,
    .define =
        [](Sweep& sweep) {
          std::vector<const Variant*> kernels{&sweep.variant("stream", "read-f32-4B-ilp1"),
                                              &sweep.variant("fma_chain", "two-operand-ilp1")};
          if (sweep.at_least(Preset::standard)) {
            kernels.push_back(&sweep.variant("stream", "read-f32-16B-ilp1"));
            kernels.push_back(&sweep.variant("stream", "copy-f32-4B-ilp1"));
            kernels.push_back(&sweep.variant("stream", "triad-f32-4B-ilp1"));
          }
          if (sweep.at_least(Preset::full)) {
            kernels.push_back(&sweep.variant("stream", "init-f32-4B-ilp1"));
            kernels.push_back(&sweep.variant("stream", "triad-f64-8B-ilp1"));
            kernels.push_back(&sweep.variant("fma_chain", "two-operand-ilp4"));
            kernels.push_back(&sweep.variant("fma_chain", "three-operand-ilp1"));
          }
          const int step = sweep.is_quick() ? 64 : 32;
          for (const Variant* kernel : kernels) {
            if (step > 32) sweep.add({.variant = kernel, .block_size = 32});
            for (int block = step; block <= sweep.sm().max_threads_per_block; block += step)
              sweep.add({.variant = kernel, .block_size = block});
          }
        },
}};

}  // namespace occbench
