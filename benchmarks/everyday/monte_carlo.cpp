// SPDX-License-Identifier: Apache-2.0
// Question: warps or generators per thread: what overlaps the integer and special-function work of a
//   simulation? Glasserman 2003; Volkov 2010.
// Expected: All variants reach the same limit, near the special-function rate, at half occupancy or less.
//   Interleaved generators need the fewest warps; four generators one after the other need as many as one.
//   Block size does not matter.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment monte_carlo{{
    .name = "monte_carlo",
    .question = "Warps or paths per thread: what overlaps integer and special-function work?",
    .dial = "warps_per_sm",
    .words = {{"monte_carlo", "simulations"}, {"ilp", "{} paths per thread"}},
    .define =
        [](Sweep& sweep) {
          const auto warps =
              sweep.by_preset({4, 16}, {4, 8, 16, 32, 64}, {4, 8, 12, 16, 20, 24, 32, 40, 48, 64});
          for (const Variant* v : sweep.variants("monte_carlo")) {
            const bool is_extreme = v->dials.register_cap == 0 && v->dials.ilp != 2;
            if (!sweep.is_quick() || is_extreme) sweep.add_resident_warps(*v, 128, warps);
            for (const int block_size : {64, 256})
              if (sweep.at_least(Preset::full))
                sweep.add_resident_warps(*v, block_size, warps);
              else if (!sweep.is_quick() && is_extreme)
                sweep.add_resident_warps(*v, block_size, std::vector{8, 32});
          }
        },
}};

}  // namespace occbench
