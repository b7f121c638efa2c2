// SPDX-License-Identifier: Apache-2.0
// Question: what does one more register cost? PMPP 4.7, Ryoo 2008.
// Expected: Stairs where a multiple of 8 registers is passed. A cliff from 31 to 33 (64 -> 48 warps) in the
//   kernel that needs warps, none in the FMA chain. The route by which the count was reached makes no
//   difference.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment registers{{
    .name = "registers",
    .question = "What does one more register per thread cost?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "block_size"},
    .scale = Scale::best,
    .define =
        [](Sweep& sweep) {
          std::vector<int> blocks{512};  // the text's block
          if (sweep.at_least(Preset::standard)) blocks.push_back(256);
          if (sweep.at_least(Preset::full)) blocks.insert(blocks.end(), {64, 128, 1024});
          for (const std::string_view loop : {"load", "fma"})
            for (const Variant* v : sweep.variants("register_pressure", loop))
              for (const int block : blocks) {
                const bool bounded = v->dials.route == RegisterRoute::launch_bounds;
                if (bounded && block != 256) continue;  // compiled for blocks of 256
                if (sweep.quick() && v->dials.register_cap % 8 != 0 && v->dials.register_cap > 33) continue;
                sweep.add({.variant = v, .block_size = block});
              }
        },
}};

}  // namespace occbench
