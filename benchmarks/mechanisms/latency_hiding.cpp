// SPDX-License-Identifier: Apache-2.0
// Question: how many warps hide latency, by the independent work per warp? Volkov 2010, 2016.
// Expected: Arithmetic throughput is one curve over warps x ILP, up to the pipe. Memory throughput is one
//   curve over bytes in flight, up to DRAM bandwidth. 16-byte loads saturate memory at 50 % occupancy, four
//   per thread at 25 %.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment latency_hiding{{
    .name = "latency_hiding",
    .question = "How many warps hide latency, by the independent work per warp?",
    .dial = "warps_per_sm",
    .words = {{"two-operand", "two-operand FMA chains"}, {"three-operand", "three-operand FMA chains"}},
    .define =
        [](Sweep& sweep) {
          constexpr int block = 128;
          std::vector<int> warps{4, 8, 12, 16, 20, 24, 32, 40, 48, 64};
          if (sweep.is_quick()) warps = {4, 8, 16, 32, 64};
          if (sweep.at_least(Preset::full)) {
            warps.clear();
            for (int w = 4; w <= 64; w += 4) warps.push_back(w);
          }
          for (const Variant* v : sweep.variants("fma_chain"))
            if (!sweep.is_quick() || v->dials.ilp == 1 || v->dials.ilp == 4)
              sweep.add_resident_warps(*v, block, warps);
          for (const Variant* v : sweep.variants("stream")) {
            const bool is_f32_read = v->name.starts_with("read-f32");
            const bool is_corner = v->dials.ilp == 1 || v->dials.ilp == 4;
            const bool is_included = sweep.at_least(Preset::full) ? true
                                     : sweep.at_least(Preset::standard)
                                         ? is_f32_read || (is_corner && !v->name.starts_with("scale") &&
                                                           v->dials.bytes_per_access != 8)
                                         : is_f32_read && is_corner && v->dials.bytes_per_access != 8;
            // Kernels with stores follow the curve of the reads, so fewer points suffice.
            const bool has_all_points = is_f32_read || sweep.at_least(Preset::full);
            if (is_included)
              sweep.add_resident_warps(*v, block, has_all_points ? warps : std::vector{4, 8, 16, 32, 48, 64});
          }
        },
}};

}  // namespace occbench
