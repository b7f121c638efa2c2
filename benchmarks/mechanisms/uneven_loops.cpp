// SPDX-License-Identifier: Apache-2.0
// Question: what do loops of unlike length cost in lanes of one warp, and do more warps hide it?
// Expected: Useful work falls to the mean length over the mean of the warps' longest, at every occupancy
//   alike: to about a quarter with 32 different points of Mandelbrot's set, to half with 32 numbers of
//   Collatz's. An item in 32 that takes work costs most warps as if each lane had it.
#include "benchmarks/sweep.hpp"

namespace occbench {

const AddExperiment uneven_loops{{
    .name = "uneven_loops",
    .question = "What do loops of unlike length cost in the lanes of a warp?",
    .dial = "warps_per_sm",
    .parted_by = {"block_size"},
    .define =
        [](Sweep& sweep) {
          constexpr int block = 128;  // a warp for each scheduler
          const int all = sweep.sm().max_warps_per_sm();
          std::vector<int> warps{4, 16, all};
          if (sweep.quick()) warps = {4, all};
          if (sweep.at_least(Preset::full)) warps = {4, 8, 16, 32, all};
          const auto add = [&](std::string_view name, int block_size, std::span<const int> resident) {
            sweep.add_resident_warps(sweep.variant("uneven_loops", name), block_size, resident);
          };
          for (const std::string_view name : {"escape-items1", "escape-items32", "collatz-items1",
                                              "collatz-items32", "rare-1in1", "rare-1in32"})
            add(name, block, warps);
          if (sweep.quick()) return;
          for (const std::string_view name : {"escape-items2", "escape-items4", "escape-items8",
                                              "collatz-items4", "rare-1in8", "rare-1in128"})
            add(name, block, warps);
          const int most[] = {all};
          for (const int block_size : {64, 512, 1024}) add("escape-items32", block_size, most);
        },
}};

}  // namespace occbench
