// SPDX-License-Identifier: Apache-2.0
// Question: warps, options per thread or registers: what makes an elementwise kernel between memory- and
//   compute-bound fast? Podlozhnyuk 2007; Volkov 2010.
// Expected: All variants reach DRAM bandwidth: with one option per thread at nearly full occupancy, with
//   four at about half. With few registers the compiler delays loads, which needs more warps.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment black_scholes{{
    .name = "black_scholes",
    .question = "Warps, options per thread or registers: what makes Black-Scholes fast?",
    .dial = "warps_per_sm",
    .words = {{"black_scholes", "option prices"}, {"ilp", "{} options per thread"}},
    .define =
        [](Sweep& sweep) {
          const auto warps =
              sweep.by_preset({8, 64}, {8, 16, 32, 48, 64}, {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64});
          for (const Variant* v : sweep.variants("black_scholes")) {
            const bool is_uncapped = v->dials.register_cap == 0;
            if (sweep.is_quick() ? is_uncapped && v->dials.ilp != 2 : true)
              sweep.add_resident_warps(*v, 128, warps);
            if (sweep.at_least(Preset::full))
              sweep.add_resident_warps(*v, 256, warps);
            else if (!sweep.is_quick() && is_uncapped)
              sweep.add_resident_warps(*v, 256, std::vector{16, 32, 64});
          }
        },
}};

}  // namespace occbench
