// SPDX-License-Identifier: Apache-2.0
// Question: what do divergent lanes cost, and do more warps hide it? PMPP 4.5.
// Expected: Half the throughput for 1 divergent lane of 32 as for 16, and 2^-D for D nested branches, at
//   every occupancy. Branches that are uniform per warp or block cost nothing. At a boundary only the lanes
//   outside are lost.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment divergence{{
    .name = "divergence",
    .question = "What do divergent lanes cost, and do more warps hide it?",
    .dial = "lanes_apart",
    .split_by = {"warps_per_sm"},
    .scale = Scale::ceiling,
    .words = {{"split-lane", "branches"}, {"spread-lane", "spread branches"}, {"nested", "nested branches"}},
    .define =
        [](Sweep& sweep) {
          constexpr int block = 128;  // one warp per scheduler
          const int all = sweep.sm().max_warps_per_sm();
          const bool quick = sweep.is_quick();
          const std::vector<int> most{all};
          std::vector<int> warps{4, all};
          if (!quick) warps.insert(warps.begin() + 1, 16);
          if (sweep.at_least(Preset::full) && all / 2 != 16) warps.insert(warps.begin() + 2, all / 2);

          for (const std::string_view name : {"split-lane-0", "split-lane-1", "split-lane-16"})
            sweep.add_resident_warps(sweep.variant("divergence", name), block, warps);
          for (const std::string_view name : {"uniform", "branch-on-warp", "branch-on-block"})
            sweep.add_resident_warps(sweep.variant("divergence", name), block, quick ? most : warps);
          for (const std::string_view name : {"nested-2", "nested-5"})
            sweep.add_resident_warps(sweep.variant("divergence", name), block, quick ? most : warps);
          if (!quick) {
            for (const std::string_view name :
                 {"split-lane-2", "split-lane-4", "split-lane-8", "nested-1", "nested-3", "nested-4"})
              sweep.add_resident_warps(sweep.variant("divergence", name), block, warps);
            sweep.add_resident_warps(sweep.variant("divergence", "spread-lane-4"), block, most);
          }

          // Four waves, to balance SMs whose tiles are mostly outside the image.
          constexpr int waves = 4;
          const auto add = [&](std::string_view name, int block_size, int warps_per_sm) {
            if (warps_per_sm * 32 % block_size == 0)
              sweep.add({.variant = &sweep.variant("divergence", name),
                         .block_size = block_size,
                         .resident_blocks = warps_per_sm * 32 / block_size,
                         .waves = waves});
          };
          for (const std::string_view name : {"full-untested", "full-tested", "image-62-rows-76-columns"})
            add(name, 256, all);
          add("vector-100-b64", 64, all);
          if (quick) return;
          add("image-150-rows-200-columns", 256, all);
          for (const std::string_view name :
               {"full-untested", "image-62-rows-76-columns", "image-150-rows-200-columns"})
            add(name, 256, 16);
          for (const int block_size : {64, 128, 256})
            for (const std::string_view elements : {"100", "1000", "10000"}) {
              const std::string name = "vector-" + std::string(elements) + "-b" + std::to_string(block_size);
              if (name != "vector-100-b64") add(name, block_size, all);
              if (elements == "100" || sweep.at_least(Preset::full)) add(name, block_size, 16);
            }
          add("full-tested", 64, all);
        },
}};

}  // namespace occbench
