// SPDX-License-Identifier: Apache-2.0
// Question: what does it cost a block to wait for its slowest warp, and a kernel to name its barriers? PMPP
//   4.3.
// Expected: The barrier itself costs tens of cycles. With uneven work, blocks of 16 warps take up to twice
//   the mean at 16 warps per SM; full occupancy hides most of it. A barrier id known only at run time
//   reserves all 16: on cc 9.0 small blocks fall from 32 to 4 per SM.
// Found: H200: large blocks do not pay most: a round of 32 warps takes 109 cycles in blocks of 32 threads, 64
//   in blocks of 512 and 91 in one of 1,024. Uneven work takes 1.69 times as long as without barriers at 16
//   warps per SM, 1.14 times at 64.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// Every block size that makes up `warps` resident warps, as far as the SM has block slots.
void add_block_sizes(Sweep& sweep, std::string_view name, int warps, const std::vector<int>& block_sizes) {
  for (const int block_size : block_sizes)
    if (warps * 32 / block_size <= sweep.sm().max_blocks_per_sm)
      sweep.add_resident_warps(sweep.variant("barriers", name), block_size, std::span(&warps, 1));
}

}  // namespace

const AddExperiment barriers{{
    .name = "barriers",
    .question = "What does waiting for the slowest warp cost, and what does naming barriers?",
    .dial = "block_size",
    .split_by = {"warps_per_sm"},
    .define =
        [](Sweep& sweep) {
          const std::vector<int> sizes =
              sweep.quick() ? std::vector{64, 1024} : std::vector{32, 64, 128, 256, 512, 1024};
          const int all = sweep.sm().max_warps_per_sm();
          const int half = all / 2;
          constexpr int few = 16;  // four per scheduler: enough to fill the FMA pipe, none to spare

          add_block_sizes(sweep, "sync-fma1", all, sizes);
          for (const std::string_view name : {"exchange-uneven", "uneven-free"}) {
            const bool waits = name == "exchange-uneven";
            add_block_sizes(sweep, name, few,
                            !waits          ? std::vector{128}
                            : sweep.quick() ? std::vector{64, 512}
                                            : sizes);
            add_block_sizes(sweep, name, all, waits ? sizes : std::vector{128});
          }
          // The cliff: the same kernel, the id a constant or not; then the constant at the other's residency.
          for (const std::string_view name : {"exchange", "named-runtime"})
            sweep.add({.variant = &sweep.variant("barriers", name), .block_size = 64});
          if (sweep.quick()) return;

          add_block_sizes(sweep, "sync-fma1", half, sizes);
          add_block_sizes(sweep, "sync-fma64", half, sizes);
          for (const std::string_view name : {"free-fma1", "free-fma64"})
            add_block_sizes(sweep, name, half, {256});
          add_block_sizes(sweep, "exchange", all, {128, 256, 512, 1024});
          sweep.add(
              {.variant = &sweep.variant("barriers", "exchange"), .block_size = 64, .resident_blocks = 4});
          for (const std::string_view name : {"exchange", "named-runtime"})
            sweep.add({.variant = &sweep.variant("barriers", name), .block_size = 32});
          for (const Variant* v : sweep.variants("barriers", "named-")) {
            if (v->name == "named-runtime") continue;
            sweep.add({.variant = v, .block_size = 64});
            sweep.add({.variant = v, .block_size = 1024});  // groups of 32 / N warps
          }
          if (!sweep.at_least(Preset::full)) return;

          for (const std::string_view name : {"sync-fma16", "free-fma16"})
            for (const int warps : {half, all}) add_block_sizes(sweep, name, warps, sizes);
          for (const std::string_view name : {"sync-fma64", "free-fma1", "free-fma64"})
            add_block_sizes(sweep, name, all, sizes);
          add_block_sizes(sweep, "exchange", half, sizes);
          if (half != few) add_block_sizes(sweep, "exchange-uneven", half, sizes);
          for (const Variant* v : sweep.variants("barriers", "named-"))
            for (const int block_size : {128, 256, 512}) sweep.add({.variant = v, .block_size = block_size});
        },
}};

}  // namespace occbench
