// SPDX-License-Identifier: Apache-2.0
// Question: how wide a tile, and how many of them on an SM? PMPP 5.6.
// Expected: The textbook's kernel gains from wider tiles and from resident blocks. Register tiling is several
//   times faster at a quarter of the occupancy.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment tiled_matmul{{
    .name = "tiled_matmul",
    .question = "How wide a tile of a matrix product, and how many of them on an SM?",
    .dial = "occupancy_theoretical",
    .define =
        [](Sweep& sweep) {
          const theory::SmLimits& sm = sweep.sm();
          for (const Variant* v : sweep.variants("tiled_matmul")) {
            // The text's host code: a tile is possible when its threads fit a block and its two halves fit
            // the shared memory that the device's properties promise a block.
            if (v->fixed_block_size > sm.max_threads_per_block ||
                v->dynamic_smem_bytes(v->fixed_block_size) > sm.smem_per_block_bytes)
              continue;
            const int most = std::min(sm.max_threads_per_sm / v->fixed_block_size, sm.max_blocks_per_sm);
            for (int blocks = 1; blocks <= most;
                 blocks = blocks < 4 ? blocks + 1 : blocks + std::max(1, most / 8))
              if (!sweep.quick() || blocks == 1 || blocks == most / 2 || blocks == most)
                sweep.add({.variant = v, .resident_blocks = blocks});
          }
        },
}};

}  // namespace occbench
