// SPDX-License-Identifier: Apache-2.0
// Question: what pays more in a filter over an image: more outputs per thread, or the warps that they cost?
//   PMPP, ch. 6 and 7.
// Expected: With 3 x 3 all variants reach DRAM's rate once there are warps enough. With 7 x 7, four outputs
//   per thread make more than twice as many a second as one at equal warps. Registers for more reads in
//   flight pay only with few warps.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment convolution{{
    .name = "convolution",
    .question = "More outputs per thread or more warps: what brings a filter over an image to full speed?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{8, 16, 32, 64};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
          for (const Variant* v : sweep.variants("convolution")) {
            const bool end = v->dials.ilp != 2;
            const bool usual_block = v->fixed_block_size == 128;
            const bool usual = usual_block && !v->name.starts_with("radius2") && v->dials.register_cap == 0;
            if (sweep.at_least(Preset::full) || (usual && !sweep.quick()))
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
            else if (sweep.quick() ? usual && end : usual_block || (end && v->name.starts_with("radius3")))
              sweep.add_resident_warps(*v, v->fixed_block_size, sweep.quick() ? std::vector{8, 32} : warps);
          }
        },
}};

}  // namespace occbench
