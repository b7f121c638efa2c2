// SPDX-License-Identifier: Apache-2.0
// Question: what do different trip counts in the lanes of a warp cost, and do more warps hide it?
// Expected: Useful work falls to the mean trip count over the mean of the warps' maxima, at every
//   occupancy: to about a quarter for 32 different points of the Mandelbrot set, to half for 32 Collatz
//   numbers. A long item in every 32 costs most warps as much as one in each lane.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment uneven_loops{{
    .name = "uneven_loops",
    .question = "What do different trip counts in the lanes of a warp cost?",
    .dial = "warps_per_sm",
    .split_by = {"block_size"},
    .words = {{"collatz", "Collatz loops"},
              {"escape", "escape-time loops"},
              {"rare", "rare loops"},
              {"lanes_apart", "{} differing lanes"},
              {"lanes_apart 0", "equal trip counts"}},
    .define =
        [](Sweep& sweep) {
          constexpr int block = 128;  // one warp per scheduler
          const int all = sweep.sm().max_warps_per_sm();
          auto warps = sweep.by_preset({4, all}, {4, 8, 16, all}, {4, 8, 16, 32, all});
          warps.erase(std::unique(warps.begin(), warps.end()),
                      warps.end());  // duplicates on an SM of 32 warps
          std::vector<const Variant*> kernels;
          const auto add = [&](std::initializer_list<std::string_view> names) {
            for (const std::string_view name : names) kernels.push_back(&sweep.variant("uneven_loops", name));
          };
          add({"escape-items1", "escape-items32", "collatz-items1", "collatz-items32", "rare-1in1",
               "rare-1in32"});
          if (!sweep.is_quick())
            add({"escape-items2", "escape-items4", "escape-items8", "collatz-items4", "rare-1in8",
                 "rare-1in128"});
          if (sweep.at_least(Preset::full)) kernels = sweep.variants("uneven_loops");
          for (const Variant* kernel : kernels) sweep.add_resident_warps(*kernel, block, warps);
          if (sweep.is_quick()) return;
          const int most[] = {all};
          for (const int block_size : {64, 512, 1024})
            sweep.add_resident_warps(sweep.variant("uneven_loops", "escape-items32"), block_size, most);
        },
}};

}  // namespace occbench
