// SPDX-License-Identifier: Apache-2.0
// Question: which occupancy needs the least energy per unit of work?
// Expected: The fastest one, or one close to it. Much of a board's power does not depend on the load, so
//   energy follows time; beyond the knee more warps change neither.
#include <set>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment energy{{
    .name = "energy",
    .question = "Which occupancy needs the least energy per unit of work?",
    .dial = "warps_per_sm",
    .scale = Scale::best,
    .words = {{"mma", "MMA chains"}, {"wgmma", "wgmma products"}},
    .define =
        [](Sweep& sweep) {
          std::vector<const Variant*> kernels{&sweep.variant("stream", "read-f32-16B-ilp1")};
          if (sweep.at_least(Preset::standard))
            kernels.push_back(&sweep.variant("fma_chain", "two-operand-ilp4"));
          if (sweep.at_least(Preset::full)) {
            kernels.push_back(&sweep.variant("stream", "read-f32-4B-ilp1"));
            kernels.push_back(&sweep.variant("stream", "copy-f32-16B-ilp1"));
            kernels.push_back(&sweep.variant("fma_chain", "two-operand-ilp1"));
          }
          const int max_warps = sweep.sm().max_warps_per_sm();
          // The energy counter is coarse, so a case takes half a second: only two in a quick run.
          std::set<int> warps{8, max_warps};
          if (sweep.at_least(Preset::standard)) warps = {4, 8, 16, 32, max_warps};
          constexpr int block = 128;
          if (sweep.at_least(Preset::standard)) {  // one warpgroup, or four warps
            sweep.add({.variant = &sweep.variant("tensor_core", "wgmma-n256-ss1"),
                       .block_size = block,
                       .energy = true});
            sweep.add(
                {.variant = &sweep.variant("tensor_core", "mma-acc8"), .block_size = block, .energy = true});
          }
          for (const Variant* kernel : kernels)
            for (const int w : warps)
              if (w <= max_warps)
                sweep.add({.variant = kernel,
                           .block_size = block,
                           .resident_blocks = w * sweep.sm().warp_size / block,
                           .energy = true});
        },
}};

}  // namespace occbench
