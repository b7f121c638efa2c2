// SPDX-License-Identifier: Apache-2.0
// Question: does layer normalization need fewer warps with a row per warp or a row per block, both held in
//   registers? Ba, Kiros and Hinton 2016.
// Expected: DRAM bandwidth with both. A row per warp has no barriers and needs fewer warps. Long rows per
//   warp take so many registers that too few warps are resident; a block's share per thread is smaller.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment layer_norm{{
    .name = "layer_norm",
    .question = "Does layer normalization need fewer warps with a row per warp or a row per block?",
    .dial = "warps_per_sm",
    .words = {{"warp", "normalizations with a row per warp"},
              {"block", "normalizations with a row per block"},
              {"tile_width", "rows of {}"},
              {"working_set_bytes", ""},
              {"ilp", ""}},
    .define =
        [](Sweep& sweep) {
          constexpr int all_warps[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
          constexpr int one[] = {16};
          for (const Variant* v : sweep.variants("layer_norm")) {
            const Dials& dials = v->dials;
            const bool is_wide = dials.bytes_per_access == 16;
            const bool is_uncapped = dials.register_cap == 0;
            const bool has_both_forms = dials.tile_width == 1024;  // rows per warp and per block
            const bool is_per_warp = v->fixed_block_size == 0;
            const int block_size = is_per_warp ? 128 : v->fixed_block_size;
            if (sweep.at_least(Preset::full)) {
              sweep.add_resident_warps(*v, block_size, all_warps);
              if (is_per_warp) sweep.add_resident_warps(*v, 256, all_warps);
              continue;
            }
            if (sweep.is_quick() && !(is_wide && is_uncapped && has_both_forms && block_size == 128))
              continue;
            std::vector<int> warps{16};
            if (is_wide && is_uncapped && !sweep.is_quick()) warps = {4, 8, 16};
            if (warps.size() > 1 && has_both_forms) warps.push_back(32);
            if (is_wide || has_both_forms) sweep.add_resident_warps(*v, block_size, warps);
            if (is_wide || dials.tile_width == 2048)  // as many warps as registers allow
              sweep.add({.variant = v, .block_size = block_size});
            if (is_per_warp && has_both_forms && is_wide && is_uncapped && !sweep.is_quick())
              sweep.add_resident_warps(*v, 256, one);
          }
        },
}};

}  // namespace occbench
