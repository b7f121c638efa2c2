// SPDX-License-Identifier: Apache-2.0
// Question: how many warps hide the latency, when each brings more independent work? Volkov 2010, 2016.
// Expected: Arithmetic throughput is one curve over warps x ILP, up to the pipe. Memory throughput is one
//   curve over bytes in flight, up to DRAM. 16-byte loads saturate memory at 50 % occupancy, four of them at
//   25 %.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment latency_hiding{{
    .name = "latency_hiding",
    .question = "How many warps hide the latency, when each brings more independent work?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int block = 128;
          std::vector<int> warps{4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
          if (sweep.quick()) warps = {4, 8, 16, 32, 64};
          if (sweep.at_least(Preset::full)) {
            warps.clear();
            for (int w = 4; w <= 64; w += 4) warps.push_back(w);
          }
          for (const Variant* v : sweep.variants("fma_chain"))
            if (!sweep.quick() || v->dials.ilp == 1 || v->dials.ilp == 4)
              sweep.add_resident_warps(*v, block, warps);
          for (const Variant* v : sweep.variants("stream")) {
            const bool read_f32 = v->name.starts_with("read-f32");
            const bool corners = v->dials.ilp == 1 || v->dials.ilp == 4;
            const bool wanted =
                sweep.at_least(Preset::full) ? true
                : sweep.at_least(Preset::standard)
                    ? read_f32 || (corners && !v->name.starts_with("scale") && v->dials.bytes_per_access != 8)
                    : read_f32 && corners && v->dials.bytes_per_access != 8;
            // What writes follows the reads' curve: fewer points show that it does.
            const bool all_points = read_f32 || sweep.at_least(Preset::full);
            if (wanted)
              sweep.add_resident_warps(*v, block, all_points ? warps : std::vector{4, 8, 16, 32, 48, 64});
          }
        },
}};

}  // namespace occbench
