// SPDX-License-Identifier: Apache-2.0
// Question: how does the number of warps needed depend on arithmetic intensity? Volkov 2016; the 'occupancy
//   vs performance' sketch of PMPP.
// Expected: Memory-bound kernels need more warps than compute-bound ones, which are flat from 25-50 %
//   occupancy on (latency x throughput). The most are needed where arithmetic and memory time are equal,
//   near 28 FMAs per 4-byte load. One load in flight per thread cannot saturate an H200's DRAM, so this
//   shows with four.
// Found: H200: with 32 FMAs and four loads even 64 warps reach only 69 % of the FP32 peak. 256 FMAs with
//   one load are not flat: 58, 66, 78 and 80 % at 16, 32, 48 and 64 warps.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment intensity{{
    .name = "intensity",
    .question = "How does the number of warps needed depend on arithmetic intensity?",
    .dial = "warps_per_sm",
    .scale = Scale::ceiling,
    .words = {{"intensity", "kernels"}, {"ilp", "{} loads in flight"}},
    .define =
        [](Sweep& sweep) {
          constexpr int block = 128;
          if (sweep.at_least(Preset::full)) {
            std::vector<int> warps;
            for (int w = 4; w <= sweep.sm().max_warps_per_sm(); w += 4) warps.push_back(w);
            for (const Variant* v : sweep.variants("intensity")) sweep.add_resident_warps(*v, block, warps);
            return;
          }
          const auto add = [&](const char* ilp, std::initializer_list<int> fma_per_load,
                               const std::vector<int>& warps) {
            for (const int k : fma_per_load)
              sweep.add_resident_warps(sweep.variant("intensity", ilp + ("-fma" + std::to_string(k))), block,
                                       warps);
          };
          if (sweep.is_quick()) {
            const std::vector<int> warps{4, 16, 32, 64};
            add("ilp1", {0, 256}, warps);
            add("ilp4", {0, 32}, warps);
          } else {
            add("ilp1", {0, 16, 64, 256}, {4, 8, 16, 32, 48, 64});
            add("ilp4", {0, 8, 16, 32, 64, 128}, {4, 8, 16, 24, 32, 48, 64});
          }
        },
}};

}  // namespace occbench
