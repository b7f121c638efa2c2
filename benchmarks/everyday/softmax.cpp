// SPDX-License-Identifier: Apache-2.0
// Question: a softmax keeps its rows in registers: what row, and how many warps? Milakov and Gimelshein 2018.
// Expected: A copy's rate, with warps in inverse proportion to a thread's share of the row, and more of them
//   than a copy takes. Long rows leave room for few warps, but those have as much in flight. Blocks wait for
//   each other's warps besides.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment softmax{{
    .name = "softmax",
    .question = "How many warps does a softmax take, whose rows wait in the registers of a warp or a block?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int every[] = {4, 8, 12, 16, 20, 24, 32, 36, 40, 48, 56, 64};
          constexpr int some[] = {8, 16, 32};
          constexpr int one[] = {16};
          for (const Variant* v : sweep.variants("softmax")) {
            const bool wide = v->dials.bytes_per_access == 16;
            const int block_size = v->fixed_block_size > 0 ? v->fixed_block_size : 128;
            if (sweep.at_least(Preset::full)) {
              sweep.add_resident_warps(*v, block_size, every);
              continue;
            }
            if (sweep.quick() && !(wide && v->dials.tile_width == 1024 && block_size == 128)) continue;
            sweep.add_resident_warps(*v, block_size,
                                     wide && !sweep.quick() ? std::span<const int>(some) : one);
            sweep.add({.variant = v, .block_size = block_size});  // as many as their registers let reside
          }
        },
}};

}  // namespace occbench
