// SPDX-License-Identifier: Apache-2.0
// Question: what does one more register per thread cost? PMPP 4.7, Ryoo 2008.
// Expected: Steps at multiples of 8 registers. From 31 to 33 (64 -> 48 warps) the kernel that needs warps
//   falls, the FMA chain does not. How the count is reached (launch bounds, maxnreg, maxrregcount) makes no
//   difference.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment registers{{
    .name = "registers",
    .question = "What does one more register per thread cost?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "block_size"},
    .scale = Scale::best,
    .words = {{"live_values", ""}, {"idle_values", ""}},
    .define =
        [](Sweep& sweep) {
          std::vector<int> blocks{512};  // as in PMPP 4.7
          if (sweep.at_least(Preset::standard)) blocks.push_back(256);
          if (sweep.at_least(Preset::full)) blocks.insert(blocks.end(), {64, 128, 1024});
          for (const std::string_view loop : {"load", "fma"})
            for (const Variant* v : sweep.variants("register_pressure", loop))
              for (const int block : blocks) {
                const bool is_bounded = v->dials.route == RegisterRoute::launch_bounds;
                if (is_bounded && block != 256) continue;  // compiled for blocks of 256
                if (sweep.is_quick() && v->dials.register_cap % 8 != 0 && v->dials.register_cap > 33)
                  continue;
                sweep.add({.variant = v, .block_size = block});
              }
        },
}};

}  // namespace occbench
