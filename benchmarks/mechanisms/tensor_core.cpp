// SPDX-License-Identifier: Apache-2.0
// Question: how many warps saturate the tensor cores? Luo et al. 2024, FlashAttention-3 2024.
// Expected: mma.sync depends on warps x accumulators and saturates by 16 warps at 60 % of the cc 9.0 peak.
//   wgmma is near the peak from 4 warps (6 % occupancy) on, the warp-specialised form from 12 warps (19 %).
// Found: H200: mma.sync saturates at 61-65 %; with 2 accumulators 12 warps (48 %) are slower than 8 (61 %).
//   wgmma: 98-99 % of the ceiling at the SM's momentary clock, which is 1.66-1.80 GHz under this load, for
//   an unknown reason.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment tensor_core{{
    .name = "tensor_core",
    .question = "How many warps saturate the tensor cores?",
    .dial = "warps_per_sm",
    .words = {{"mma", "MMA chains"},
              {"wgmma", "wgmma products"},
              {"wgmma-pipelined", "pipelined wgmma products"},
              {"wgmma-registers", "wgmma products from registers"},
              {"wgmma-specialised", "warp-specialised wgmma products"},
              {"ilp", "{} accumulators per warp"}},
    .define =
        [](Sweep& sweep) {
          std::vector<int> warps{4, 8, 12, 16, 32, 64};
          if (sweep.is_quick()) warps = {4, 16, 64};
          if (sweep.at_least(Preset::full)) {
            warps.clear();
            for (int w = 4; w <= 64; w += 4) warps.push_back(w);
          }
          for (const Variant* v : sweep.variants("tensor_core", "mma"))
            if (!sweep.is_quick() || v->dials.ilp == 1)
              sweep.add_resident_warps(*v, 128, warps);
            else if (v->dials.ilp == 8)
              sweep.add_resident_warps(*v, 128, std::vector{4, 16});

          // Resident tiles: the same warps as blocks of one warpgroup, or as one block of several.
          for (const Variant* v : sweep.variants("tensor_core", "wgmma-n")) {
            const bool from_registers = v->series.ends_with("rs");
            const int warpgroups = v->fixed_block_size / 128;
            std::vector<int> warps_of_variant;
            if (sweep.at_least(Preset::full))
              warps_of_variant = warps;
            else if (warpgroups > 1 && (v->dials.tile_width == 256 || warpgroups == 4))
              warps_of_variant = {4 * warpgroups};
            else if (warpgroups == 1 && !from_registers)
              warps_of_variant = {4, 8, 12, 16};
            else if (warpgroups == 1 && v->dials.tile_width != 128)
              warps_of_variant = {4, 8};
            if (sweep.is_quick())
              warps_of_variant = warpgroups == 1 && !from_registers ? std::vector{4, 12} : std::vector<int>{};
            sweep.add_resident_warps(*v, v->fixed_block_size, warps_of_variant);
          }

          // Streamed tiles, with and without a producer warp, at 16, 32 and 48 KiB per iteration.
          for (const std::string_view form : {"wgmma-specialised", "wgmma-pipelined"})
            for (const Variant* v : sweep.variants("tensor_core", form))
              if (!sweep.is_quick() || (v->launch_bounds_threads != 0 && !v->name.ends_with("-b")))
                sweep.add({.variant = v});
        },
}};

}  // namespace occbench
