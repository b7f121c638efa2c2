// SPDX-License-Identifier: Apache-2.0
// Question: more outputs per thread or more warps: what makes an image filter fast? PMPP, ch. 6 and 7.
// Expected: With 3 x 3 all variants reach DRAM bandwidth with enough warps. With 7 x 7, four outputs per
//   thread are more than twice as fast as one at the same number of warps. More registers for more loads in
//   flight pay with few warps only.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment convolution{{
    .name = "convolution",
    .question = "More outputs per thread or more warps: what makes an image filter fast?",
    .dial = "warps_per_sm",
    .words = {{"radius1", "3 x 3 filters"},
              {"radius2", "5 x 5 filters"},
              {"radius3", "7 x 7 filters"},
              {"ilp", "{} outputs per thread"},
              {"tile_width", ""}},
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{8, 16, 32, 64};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
          for (const Variant* v : sweep.variants("convolution")) {
            const bool is_extreme = v->dials.ilp != 2;
            const bool is_main_block = v->fixed_block_size == 128;
            const bool is_main =
                is_main_block && !v->name.starts_with("radius2") && v->dials.register_cap == 0;
            if (sweep.at_least(Preset::full) || (is_main && !sweep.is_quick()))
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
            else if (sweep.is_quick() ? is_main && is_extreme
                                      : is_main_block || (is_extreme && v->name.starts_with("radius3")))
              sweep.add_resident_warps(*v, v->fixed_block_size,
                                       sweep.is_quick() ? std::vector{8, 32} : warps);
          }
        },
}};

}  // namespace occbench
