// SPDX-License-Identifier: Apache-2.0
// Question: what does unused shared memory cost at the same number of warps? RRZE gpu-benches.
// Expected: A kernel that rereads a working set falls from L1 to L2 bandwidth once the remaining L1 is too
//   small for it. A kernel that reads its data once is unaffected.
#include <map>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// One carve-out percentage for each shared-memory size that the SM supports, from the smallest that holds
/// two blocks (with the reserved KiB of each): the driver ignores smaller carve-outs.
std::vector<int> carveouts(const theory::SmLimits& sm, int block_size) {
  std::map<std::size_t, int> percent_of;
  for (int percent = 0; percent <= 100; ++percent)
    percent_of[theory::smem_capacity_bytes(
        sm, {.block_size = block_size, .registers_per_thread = 32, .carveout_percent = percent})] = percent;
  std::vector<int> percents;
  for (const auto& [capacity, percent] : percent_of)
    if (capacity >= 2 * sm.smem_reserved_per_block_bytes) percents.push_back(percent);
  return percents;
}

}  // namespace

const AddExperiment carveout{{
    .name = "carveout",
    .question = "What does unused shared memory cost at the same number of warps?",
    .dial = "carveout_percent",
    .words = {{"cache_reuse", "cached reads"}},
    .define =
        [](Sweep& sweep) {
          const theory::SmLimits& sm = sweep.sm();
          // Two such blocks fill the SM, with the least reserved shared memory.
          const int block = sm.max_threads_per_sm / 2;
          // The largest working set that fits the L1 twice at small carve-outs, but not at large ones.
          const Variant* reuse = nullptr;
          std::vector<const Variant*> kernels;
          for (const Variant* v : sweep.variants("cache_reuse", "ilp1")) {
            if (v->dials.register_cap != 0) continue;
            if (sweep.at_least(Preset::full)) kernels.push_back(v);
            if (5 * v->dials.working_set_bytes <= 3 * sm.smem_per_sm_bytes / 2 &&
                (reuse == nullptr || v->dials.working_set_bytes > reuse->dials.working_set_bytes))
              reuse = v;
          }
          if (!sweep.at_least(Preset::full)) kernels = {reuse};
          kernels.push_back(&sweep.variant("stream", "read-f32-4B-ilp1"));
          std::vector<int> percents = carveouts(sm, block);
          if (sweep.is_quick() && percents.size() > 2) percents = {percents.front(), percents.back()};
          for (const Variant* kernel : kernels)
            for (const int percent : percents)
              sweep.add({.variant = kernel, .block_size = block, .carveout_percent = percent});
        },
}};

}  // namespace occbench
