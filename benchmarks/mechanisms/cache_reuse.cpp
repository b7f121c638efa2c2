// SPDX-License-Identifier: Apache-2.0
// Question: when do more resident blocks evict each other's data from the L1? Guz 2009, CCWS 2012, Orion
//   2016.
// Expected: Throughput rises with warps until blocks x working set exceed the L1, then falls to L2
//   bandwidth. The best residency is in between, and lower for larger working sets. Four loads in flight
//   per thread reach L1 bandwidth with a quarter of the warps.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment cache_reuse{{
    .name = "cache_reuse",
    .question = "When do more resident blocks evict each other's data from the L1?",
    .dial = "warps_per_sm",
    .outside_model = "where working sets overflow the L1, chance decides on each SM which blocks hit",
    .words = {{"cache_reuse", "cached reads"},
              {"ilp", "{} loads in flight"},
              {"working_set_bytes", "{} per block"}},
    .define =
        [](Sweep& sweep) {
          // Residency is set by ballast within half of the combined memory, so the L1 has the same size at
          // all points.
          constexpr int carveout = 50;
          constexpr int block = 128;
          const int max_blocks = sweep.sm().max_threads_per_sm / block;
          std::vector<int> blocks{1, 2, 3, 4, 6, 8, 12, 16};
          if (sweep.is_quick()) blocks = {1, 3, 8, 16};
          if (sweep.at_least(Preset::full)) {
            blocks.clear();
            for (int b = 1; b <= max_blocks; ++b) blocks.push_back(b);
          }
          std::vector<const Variant*> kernels;
          if (sweep.at_least(Preset::full)) {
            for (const Variant* v : sweep.variants("cache_reuse"))
              if (v->dials.register_cap == 0) kernels.push_back(v);
          } else {
            for (const char* name : {"ilp1-4KiB", "ilp1-32KiB"})
              kernels.push_back(&sweep.variant("cache_reuse", name));
            if (!sweep.is_quick())
              for (const char* name : {"ilp1-8KiB", "ilp1-16KiB", "ilp4-32KiB"})
                kernels.push_back(&sweep.variant("cache_reuse", name));
          }
          for (const Variant* kernel : kernels)
            for (const int b : blocks)
              if (b <= max_blocks)
                sweep.add({.variant = kernel,
                           .block_size = block,
                           .resident_blocks = b,
                           .carveout_percent = carveout});
        },
}};

}  // namespace occbench
