// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does a transpose need, with and without bank conflicts? Ruetsch and Micikevicius
//   2009.
// Expected: Padded: a copy's DRAM bandwidth with about half of the warps, and with fewer at 8 rows per
//   thread. Unpadded: a lower limit by shared memory that more warps do not raise.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment transpose{{
    .name = "transpose",
    .question = "How many warps does a transpose need, with and without bank conflicts?",
    .dial = "warps_per_sm",
    .words = {{"transpose", "transposes"},
              {"bank_conflict", "{}-way bank conflicts"},
              {"block_size", ""},
              {"ilp", ""}},
    .define =
        [](Sweep& sweep) {
          const auto warps =
              sweep.by_preset({8, 64}, {8, 16, 32, 64}, {4, 8, 12, 16, 24, 32, 40, 48, 56, 64});
          for (const Variant* v : sweep.variants("transpose"))
            if (!sweep.is_quick() || v->dials.bank_conflict != 4)
              sweep.add_resident_warps(*v, v->fixed_block_size, warps);
        },
}};

}  // namespace occbench
