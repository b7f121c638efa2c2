// SPDX-License-Identifier: Apache-2.0
// Question: how much throughput do fewer SMs leave? CUDA Driver API, 'Green Contexts'.
// Expected: FMAs and tensor products in proportion to the SMs. Reads of DRAM and L2 keep more, until the SMs
//   left have too few bytes in flight: Little's law. The higher a card's DRAM bandwidth and the lower the
//   occupancy, the sooner they follow the SMs. A grid of one small block per SM loses little on half of them.
#include <set>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

constexpr int granularity = 8;   // of SMs on cc 9.0; no architecture with green contexts has a larger one
constexpr int whole_waves = 16;  // of all SMs; on few of them the last wave matters less
constexpr double block_s = 60e-6;

std::set<int> sm_counts(const Sweep& sweep) {
  const int all = sweep.sm().sm_count;
  std::set<int> counts{8, 16, 32, 48, 64, 96};
  if (sweep.is_quick()) counts = {32, 64};
  if (sweep.at_least(Preset::full))
    for (int sms = granularity; sms < all; sms += granularity) counts.insert(sms);
  counts.erase(counts.lower_bound(all), counts.end());
  counts.insert(all);
  return counts;
}

/// The same work on each number of SMs.
void add_counts(Sweep& sweep, CaseSpec spec) {
  for (const int sms : sm_counts(sweep)) {
    spec.sm_count = sms;
    sweep.add(spec);
  }
}

void add_at_warps(Sweep& sweep, const Variant& kernel, int warps_per_sm) {
  constexpr int block_size = 128;
  const int resident = warps_per_sm * sweep.sm().warp_size / block_size;
  add_counts(sweep, {.variant = &kernel,
                     .block_size = block_size,
                     .resident_blocks = resident,
                     .grid_size = whole_waves * resident * sweep.sm().sm_count,
                     .block_s = block_s});
}

}  // namespace

const AddExperiment sm_share{{
    .name = "sm_share",
    .question = "How much throughput do fewer SMs leave?",
    .dial = "sm_count",
    .split_by = {"warps_per_sm", "grid_size"},
    .words = {{"read", "DRAM reads"},
              {"two-operand", "FMA chains"},
              {"cache_reuse", "L2 reads"},
              {"wgmma", "wgmma products"},
              {"mma", "mma chains"}},
    .define =
        [](Sweep& sweep) {
          const int all = sweep.sm().sm_count;
          if (all == 0) return;  // an offline device may have an unknown number of SMs
          const int full = sweep.sm().max_warps_per_sm();
          const Variant& read = sweep.variant("stream", "read-f32-16B-ilp4");
          const bool has_wgmma = sweep.sm().cc_major == 9;
          const Variant& tensor = sweep.variant("tensor_core", has_wgmma ? "wgmma-n256-ss1" : "mma-acc8");
          for (const bool is_low : {false, true}) {
            if (is_low && sweep.is_quick()) continue;
            add_at_warps(sweep, read, is_low ? 8 : full);
            add_at_warps(sweep, sweep.variant("cache_reuse", "ilp4-64KiB"), is_low ? 8 : full);
            add_at_warps(sweep, sweep.variant("fma_chain", "two-operand-ilp4"), is_low ? 8 : full);
            add_at_warps(sweep, tensor, is_low ? 4 : 8);
          }
          add_counts(sweep, {.curve = "one block per SM",
                             .variant = &read,
                             .block_size = 128,
                             .grid_size = all,
                             .block_s = 1e-3});
        },
}};

}  // namespace occbench
