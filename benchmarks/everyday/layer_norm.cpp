// SPDX-License-Identifier: Apache-2.0
// Question: rows that are normalized wait in registers: a warp's or a block's? Ba, Kiros and Hinton 2016.
// Expected: DRAM's rate for both. A warp's row, which no barrier holds up, needs fewer warps. Long rows in a
//   warp take the registers of those that would overlap them; a block's share of a row is short enough to let
//   more reside.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment layer_norm{{
    .name = "layer_norm",
    .question = "Does a layer normalization take fewer warps with a row per warp, or a row per block?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int every[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          constexpr int one[] = {16};
          for (const Variant* v : sweep.variants("layer_norm")) {
            const Dials& dials = v->dials;
            const bool wide = dials.bytes_per_access == 16;
            const bool free = dials.register_cap == 0;
            const bool both_forms = dials.tile_width == 1024;  // rows that a warp holds, or a block
            const bool by_warp = v->fixed_block_size == 0;
            const int block_size = by_warp ? 128 : v->fixed_block_size;
            if (sweep.at_least(Preset::full)) {
              sweep.add_resident_warps(*v, block_size, every);
              if (by_warp) sweep.add_resident_warps(*v, 256, every);
              continue;
            }
            if (sweep.quick() && !(wide && free && both_forms && block_size == 128)) continue;
            std::vector<int> warps{16};
            if (wide && free && !sweep.quick()) warps = {4, 8, 16};
            if (warps.size() > 1 && both_forms) warps.push_back(32);
            if (wide || both_forms) sweep.add_resident_warps(*v, block_size, warps);
            if (wide || dials.tile_width == 2048)  // as many as their registers let reside
              sweep.add({.variant = v, .block_size = block_size});
            if (by_warp && both_forms && wide && free && !sweep.quick())
              sweep.add_resident_warps(*v, 256, one);
          }
        },
}};

}  // namespace occbench
