// SPDX-License-Identifier: Apache-2.0
// Question: when do more resident blocks spoil the L1 that they share? Guz 2009, CCWS 2012, Orion 2016.
// Expected: Throughput rises with the warps until blocks x working set pass the L1, then falls to the L2's
//   rate. The best residency lies between, and is lower the larger the working set. Four loads in flight per
//   thread reach the L1's rate with a quarter of the warps.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment cache_reuse{{
    .name = "cache_reuse",
    .question = "When do more resident blocks spoil the L1 that they share?",
    .dial = "warps_per_sm",
    .outside_model = "where working sets overflow the L1, chance decides on each SM which blocks hit",
    .define =
        [](Sweep& sweep) {
          // Residency by ballast within one half of the memory that L1 and shared memory divide: the other
          // half stays L1, the same at every point.
          constexpr int carveout = 50;
          constexpr int block = 128;
          const int most = sweep.sm().max_threads_per_sm / block;
          std::vector<int> blocks{1, 2, 3, 4, 6, 8, 12, 16};
          if (sweep.quick()) blocks = {1, 3, 8, 16};
          if (sweep.at_least(Preset::full)) {
            blocks.clear();
            for (int b = 1; b <= most; ++b) blocks.push_back(b);
          }
          std::vector<const Variant*> kernels;
          if (sweep.at_least(Preset::full)) {
            for (const Variant* v : sweep.variants("cache_reuse"))
              if (v->dials.register_cap == 0) kernels.push_back(v);
          } else {
            for (const char* name : {"ilp1-4KiB", "ilp1-32KiB"})
              kernels.push_back(&sweep.variant("cache_reuse", name));
            if (!sweep.quick())
              for (const char* name : {"ilp1-8KiB", "ilp1-16KiB", "ilp4-32KiB"})
                kernels.push_back(&sweep.variant("cache_reuse", name));
          }
          for (const Variant* kernel : kernels)
            for (const int b : blocks)
              if (b <= most)
                sweep.add({.variant = kernel,
                           .block_size = block,
                           .resident_blocks = b,
                           .carveout_percent = carveout});
        },
}};

}  // namespace occbench
