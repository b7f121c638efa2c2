// SPDX-License-Identifier: Apache-2.0
// Question: which occupancy does a unit of work with the least energy?
// Expected: The fastest occupancy, or one near it. A board draws much of its power whatever runs, so time is
//   energy; beyond the knee more warps change neither.
#include <set>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment energy{{
    .name = "energy",
    .question = "Which occupancy does a unit of work with the least energy?",
    .dial = "warps_per_sm",
    .scale = Scale::best,
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
          const int most = sweep.sm().max_warps_per_sm();
          // A case takes half a second, since the board counts energy in steps: two must do in a quick run.
          std::set<int> warps{8, most};
          if (sweep.at_least(Preset::standard)) warps = {4, 8, 16, 32, most};
          constexpr int block = 128;
          if (sweep.at_least(Preset::standard)) {  // 128 threads each: a warpgroup, or as many warps
            sweep.add({.variant = &sweep.variant("tensor_core", "wgmma-n256-ss1"),
                       .block_size = block,
                       .energy = true});
            sweep.add(
                {.variant = &sweep.variant("tensor_core", "mma-acc8"), .block_size = block, .energy = true});
          }
          for (const Variant* kernel : kernels)
            for (const int w : warps)
              if (w <= most)
                sweep.add({.variant = kernel,
                           .block_size = block,
                           .resident_blocks = w * sweep.sm().warp_size / block,
                           .energy = true});
        },
}};

}  // namespace occbench
