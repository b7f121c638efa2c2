// SPDX-License-Identifier: Apache-2.0
// Question: how many warps hide the barriers of a row sum, by block size? Harris 2007; Volkov 2010.
// Expected: DRAM bandwidth with fewer warps, the more bytes a thread loads. At the same number of warps the
//   smallest blocks are fastest: while one sums up, others load.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment reduction{{
    .name = "reduction",
    .question = "How many warps hide the barriers of a row sum, by block size?",
    .dial = "warps_per_sm",
    .words = {{"reduction", "row sums"}, {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{8, 16, 32, 64};
          if (sweep.quick()) warps = {8, 64};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 12, 16, 24, 32, 40, 48, 56, 64};
          for (const Variant* v : sweep.variants("reduction")) {
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
