// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does a matrix-vector product need, as in LLM decoding, by width and number of
//   loads? Bell and Garland 2009; Volkov 2010.
// Expected: DRAM bandwidth at a number of warps inversely proportional to the bytes in flight per thread.
//   Block size does not matter, since each warp has rows of its own.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment gemv{{
    .name = "gemv",
    .question = "How many warps does a matrix-vector product need, by width and number of loads?",
    .dial = "warps_per_sm",
    .words = {{"gemv", "matrix-vector products"}, {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          sweep.add_row_sums(
              "gemv", sweep.by_preset({8, 64}, {8, 16, 32, 48, 64}, {4, 8, 12, 16, 24, 32, 40, 48, 56, 64}));
        },
}};

}  // namespace occbench
