// SPDX-License-Identifier: Apache-2.0
// Question: how many registers should producer warps leave to the consumers? PTX ISA, 'setmaxnreg'.
// Expected: Every split gives the same throughput while no warp spills: the producer needs few registers,
//   and more than the consumers need is worth nothing. Where the consumers' values no longer fit, throughput
//   falls with each value that spills, since each iteration stores and loads it.
// Found: H100, H200: as expected. Flat within 2 % from 200 to 240 registers. 192 spill 16 B and lose 5 %,
//   184 spill 48 B and lose 10 %, 176 spill 112 B and lose 50 to 54 %, 168 spill 208 B and lose 81 %.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment warp_roles{{
    .name = "warp_roles",
    .question = "How many registers should producer warps leave to the consumers?",
    .dial = "register_cap",
    .words = {{"wgmma-roles", "warp-specialised wgmma products with 64 further values"}},
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("tensor_core", "wgmma-roles")) {
            const int registers = v->dials.register_cap;
            if (!sweep.is_quick() || registers == 168 || registers == 200 || registers == 240)
              sweep.add({.variant = v});
          }
        },
}};

}  // namespace occbench
