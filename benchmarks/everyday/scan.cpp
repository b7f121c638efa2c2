// SPDX-License-Identifier: Apache-2.0
// Question: barriers, shuffles or elements per thread: how many warps does a prefix sum need? PMPP, 4th
//   ed., ch. 11.
// Expected: Kogge-Stone with a barrier per step gains with each warp up to the last. Shuffles reach DRAM
//   bandwidth with fewer warps, several elements per thread with the fewest. One resident block of 1,024
//   stalls as a whole; two overlap.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment scan{{
    .name = "scan",
    .question = "Barriers, shuffles or elements per thread: how many warps does a prefix sum need?",
    .dial = "warps_per_sm",
    .words = {{"shuffles", "shuffle scans"}, {"kogge_stone", "Kogge-Stone scans"}, {"tile_width", ""}},
    .define =
        [](Sweep& sweep) {
          constexpr int all_warps[] = {4, 8, 12, 16, 24, 32, 40, 48, 56, 64};
          constexpr int main_warps[] = {8, 16, 32, 64};
          constexpr int other_warps[] = {8, 32, 64};
          constexpr int quick_warps[] = {16, 64};
          for (const Variant* v : sweep.variants("scan")) {
            const int block_size = v->fixed_block_size;
            const int elements = v->dials.tile_width / block_size;
            if (sweep.is_quick() && (block_size != 256 || elements == 4 || v->dials.register_cap > 0))
              continue;
            std::span<const int> warps = other_warps;
            if (block_size == 256) warps = main_warps;
            if (sweep.is_quick()) warps = quick_warps;
            if (sweep.at_least(Preset::full)) warps = all_warps;
            sweep.add_resident_warps(*v, block_size, warps);
          }
        },
}};

}  // namespace occbench
