// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does a softmax need, with rows in the registers of a warp or a block? Milakov
//   and Gimelshein 2018.
// Expected: The bandwidth of a copy, with warps inversely proportional to a thread's share of the row, but
//   more than a copy needs. Long rows allow few warps, which have as many bytes in flight. Rows per block
//   also wait at barriers.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment softmax{{
    .name = "softmax",
    .question = "How many warps does a softmax need, with rows in the registers of a warp or a block?",
    .dial = "warps_per_sm",
    .words = {{"warp", "softmaxes with a row per warp"},
              {"block", "softmaxes with a row per block"},
              {"tile_width", "rows of {}"},
              {"ilp", ""}},
    .define =
        [](Sweep& sweep) {
          constexpr int all_warps[] = {4, 8, 12, 16, 20, 24, 32, 36, 40, 48, 56, 64};
          constexpr int standard_warps[] = {8, 16, 32};
          constexpr int one[] = {16};
          for (const Variant* v : sweep.variants("softmax")) {
            const bool is_wide = v->dials.bytes_per_access == 16;
            const int block_size = v->fixed_block_size > 0 ? v->fixed_block_size : 128;
            if (sweep.at_least(Preset::full)) {
              sweep.add_resident_warps(*v, block_size, all_warps);
              continue;
            }
            if (sweep.is_quick() && !(is_wide && v->dials.tile_width == 1024 && block_size == 128)) continue;
            sweep.add_resident_warps(
                *v, block_size, is_wide && !sweep.is_quick() ? std::span<const int>(standard_warps) : one);
            sweep.add({.variant = v, .block_size = block_size});  // as many warps as registers allow
          }
        },
}};

}  // namespace occbench
