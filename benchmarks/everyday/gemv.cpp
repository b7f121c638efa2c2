// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does a step of a language model's decoding take, with loads of which width and
//   number? Bell and Garland 2009; Volkov 2010.
// Expected: DRAM's rate at a number of warps in inverse proportion to the bytes that a thread has in flight.
//   The block's size does not matter, for each warp has rows of its own.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment gemv{{
    .name = "gemv",
    .question = "How many warps does a matrix times a vector take, with loads of which width and number?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{8, 16, 32, 48, 64};
          if (sweep.quick()) warps = {8, 64};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 24, 32, 40, 48, 56, 64};
          for (const Variant* v : sweep.variants("gemv")) {
            const Dials& dials = v->dials;
            const bool end = (dials.bytes_per_access == 4 && dials.ilp == 1) ||
                             (dials.bytes_per_access == 16 && dials.ilp == 4);
            const bool usual_block = v->fixed_block_size == 256;
            if (sweep.at_least(Preset::full) || (sweep.quick() ? end && usual_block : end || usual_block))
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
          }
        },
}};

}  // namespace occbench
