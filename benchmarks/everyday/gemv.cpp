// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does a matrix-vector product need, as in LLM decoding, by width and number of
//   loads? Bell and Garland 2009; Volkov 2010.
// Expected: DRAM bandwidth at a number of warps inversely proportional to the bytes in flight per thread.
//   Block size does not matter, since each warp has rows of its own.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment gemv{{
    .name = "gemv",
    .question = "How many warps does a matrix-vector product need, by width and number of loads?",
    .dial = "warps_per_sm",
    .words = {{"gemv", "matrix-vector products"}, {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{8, 16, 32, 48, 64};
          if (sweep.quick()) warps = {8, 64};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 24, 32, 40, 48, 56, 64};
          for (const Variant* v : sweep.variants("gemv")) {
            const Dials& dials = v->dials;
            const bool is_extreme = (dials.bytes_per_access == 4 && dials.ilp == 1) ||
                                    (dials.bytes_per_access == 16 && dials.ilp == 4);
            const bool is_main_block = v->fixed_block_size == 256;
            if (sweep.at_least(Preset::full) ||
                (sweep.quick() ? is_extreme && is_main_block : is_extreme || is_main_block))
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
          }
        },
}};

}  // namespace occbench
