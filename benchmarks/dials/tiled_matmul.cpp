// SPDX-License-Identifier: Apache-2.0
// Question: which tile size and how many resident tiles make a matrix product fastest? PMPP 5.6.
// Expected: The textbook kernel gains from wider tiles and more resident blocks. Register tiling is several
//   times faster at a quarter of the occupancy.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment tiled_matmul{{
    .name = "tiled_matmul",
    .question = "Which tile size and how many resident tiles make a matrix product fastest?",
    .dial = "occupancy_theoretical",
    .words = {{"register", "register-tiled products"},
              {"runtime", "products of a run-time tile width"},
              {"textbook", "textbook products"},
              {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          const theory::SmLimits& sm = sweep.sm();
          for (const Variant* v : sweep.variants("tiled_matmul")) {
            // As in PMPP's host code: the tile's threads and its shared memory without opt-in must fit a
            // block.
            if (v->fixed_block_size > sm.max_threads_per_block ||
                v->dynamic_smem_bytes(v->fixed_block_size) > sm.smem_per_block_bytes)
              continue;
            const int max_blocks =
                std::min(sm.max_threads_per_sm / v->fixed_block_size, sm.max_blocks_per_sm);
            for (int blocks = 1; blocks <= max_blocks;
                 blocks = blocks < 4 ? blocks + 1 : blocks + std::max(1, max_blocks / 8))
              if (!sweep.is_quick() || blocks == 1 || blocks == max_blocks / 2 || blocks == max_blocks)
                sweep.add({.variant = v, .resident_blocks = blocks});
          }
        },
}};

}  // namespace occbench
