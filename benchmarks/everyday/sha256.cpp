// SPDX-License-Identifier: Apache-2.0
// Question: warps, chains per thread or unrolled rounds: what makes SHA-256 fast, as in password hashing
//   and proof of work? FIPS 180-4; Volkov 2010.
// Expected: Few warps suffice, since one warp alone nearly fills its scheduler's integer pipe. Chains per
//   thread and block size do not change the limit. Unrolling all rounds gains by folding constants, unless
//   the code overflows an instruction cache, as with four chains.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment sha256{{
    .name = "sha256",
    .question = "Warps, chains per thread or unrolled rounds: what makes SHA-256 fast?",
    .dial = "warps_per_sm",
    .words = {{"rolled", "hashes with rolled rounds"},
              {"unrolled", "hashes with unrolled rounds"},
              {"ilp", "{} chains per thread"}},
    .define =
        [](Sweep& sweep) {
          const bool full = sweep.at_least(Preset::full);
          for (const Variant* v : sweep.variants("sha256")) {
            const bool is_uncapped = v->dials.register_cap == 0;
            const bool is_extreme =
                is_uncapped && v->dials.ilp != 2 && v->name.find("-rounds16") != std::string::npos;
            std::vector<int> warps = is_uncapped ? std::vector{4, 8, 16, 32, 64} : std::vector{4, 16, 32, 64};
            if (sweep.is_quick()) warps = is_extreme ? std::vector{4, 16} : std::vector<int>{};
            if (full) warps = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
            sweep.add_resident_warps(*v, 128, warps);
            if (sweep.is_quick() || !(full ? is_uncapped : is_extreme)) continue;
            sweep.add_resident_warps(*v, 256, full ? warps : std::vector{8, 16});
          }
        },
}};

}  // namespace occbench
