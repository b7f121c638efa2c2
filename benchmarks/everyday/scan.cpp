// SPDX-License-Identifier: Apache-2.0
// Question: what does a prefix sum wait for, its barriers or DRAM, and how many warps cover it? PMPP, 4th
//   ed., ch. 11.
// Expected: Kogge and Stone's form, with a barrier a step, gains with every warp to the last. Shuffles reach
//   DRAM's rate with fewer warps, several elements per thread with fewest. One block of 1,024 waits as a
//   whole; two take turns.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment scan{{
    .name = "scan",
    .question = "Barriers, shuffles or elements per thread: how many warps does a prefix sum take?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int every[] = {4, 8, 12, 16, 24, 32, 40, 48, 56, 64};
          constexpr int most[] = {8, 16, 32, 64};
          constexpr int some[] = {8, 32, 64};
          constexpr int few[] = {16, 64};
          for (const Variant* v : sweep.variants("scan")) {
            const int block_size = v->fixed_block_size;
            const int elements = v->dials.tile_width / block_size;
            if (sweep.quick() && (block_size != 256 || elements == 4 || v->dials.register_cap > 0)) continue;
            std::span<const int> warps = some;
            if (block_size == 256) warps = most;
            if (sweep.quick()) warps = few;
            if (sweep.at_least(Preset::full)) warps = every;
            sweep.add_resident_warps(*v, block_size, warps);
          }
        },
}};

}  // namespace occbench
