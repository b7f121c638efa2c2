// SPDX-License-Identifier: Apache-2.0
// Question: how many warps hide the barriers of a row sum, by block size? Harris 2007; Volkov 2010.
// Expected: DRAM bandwidth with fewer warps, the more bytes a thread loads. At the same number of warps the
//   smallest blocks are fastest: while one sums up, others load.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment reduction{{
    .name = "reduction",
    .question = "How many warps hide the barriers of a row sum, by block size?",
    .dial = "warps_per_sm",
    .words = {{"reduction", "row sums"}, {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          sweep.add_row_sums(
              "reduction", sweep.by_preset({8, 64}, {8, 16, 32, 64}, {4, 8, 12, 16, 24, 32, 40, 48, 56, 64}));
        },
}};

}  // namespace occbench
