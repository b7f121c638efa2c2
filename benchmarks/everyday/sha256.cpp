// SPDX-License-Identifier: Apache-2.0
// Question: what brings SHA-256 to the integer pipe's rate, as password hashing and proof of work run it:
//   warps, chains per thread, or unrolled rounds? FIPS 180-4; Volkov 2010.
// Expected: Few warps, for one warp alone nearly fills its scheduler's integer pipe. One plateau, on which
//   neither chains per thread nor the block's size tell. All rounds unrolled gain what constants save, unless
//   the code overflows a cache, as four chains do.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment sha256{{
    .name = "sha256",
    .question = "Warps, chains per thread or unrolled rounds: what makes SHA-256 fast?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          const bool full = sweep.at_least(Preset::full);
          for (const Variant* v : sweep.variants("sha256")) {
            const bool free = v->dials.register_cap == 0;
            const bool end = free && v->dials.ilp != 2 && v->name.find("-rounds16") != std::string::npos;
            std::vector<int> warps = free ? std::vector{4, 8, 16, 32, 64} : std::vector{4, 16, 32, 64};
            if (sweep.quick()) warps = end ? std::vector{4, 16} : std::vector<int>{};
            if (full) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
            sweep.add_resident_warps(*v, 128, warps);
            if (sweep.quick() || !(full ? free : end)) continue;
            sweep.add_resident_warps(*v, 256, full ? warps : std::vector{8, 16});
          }
        },
}};

}  // namespace occbench
