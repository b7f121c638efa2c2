// SPDX-License-Identifier: Apache-2.0
// Question: what does waiting for the slowest warp of a block cost, and what do named barriers cost? PMPP
//   4.3.
// Expected: A barrier takes tens of cycles. With uneven work, blocks of 16 warps take up to twice the mean
//   at 16 warps per SM; full occupancy hides most of it. A barrier id known only at run time reserves all
//   16 barriers: on cc 9.0 small blocks fall from 32 to 4 per SM.
// Found: H200: large blocks are not the slowest: 32 warps take 109 cycles per barrier in blocks of 32
//   threads, 64 in blocks of 512 and 91 in one of 1,024. Uneven work takes 1.69 times as long as without
//   barriers at 16 warps per SM, 1.14 times at 64.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// Adds each block size with `warps` resident warps, unless that exceeds the SM's block limit.
void add_block_sizes(Sweep& sweep, std::string_view name, int warps, const std::vector<int>& block_sizes) {
  for (const int block_size : block_sizes)
    if (warps * 32 / block_size <= sweep.sm().max_blocks_per_sm)
      sweep.add_resident_warps(sweep.variant("barriers", name), block_size, std::span(&warps, 1));
}

}  // namespace

const AddExperiment barriers{{
    .name = "barriers",
    .question = "What does waiting for the slowest warp of a block cost, and what do named barriers cost?",
    .dial = "block_size",
    .split_by = {"warps_per_sm"},
    .words = {{"exchange", "exchanges"},
              {"exchange-uneven", "exchanges after uneven work"},
              {"free", "FMA loops without barriers"},
              {"named", "named-barrier exchanges"},
              {"named-runtime", "exchanges by a run-time barrier id"},
              {"sync", "__syncthreads loops"},
              {"uneven-free", "uneven work without barriers"}},
    .define =
        [](Sweep& sweep) {
          const std::vector<int> sizes =
              sweep.is_quick() ? std::vector{64, 1024} : std::vector{32, 64, 128, 256, 512, 1024};
          const int all = sweep.sm().max_warps_per_sm();
          const int half = all / 2;
          constexpr int few = 16;  // four per scheduler: just enough to fill the FMA pipe

          add_block_sizes(sweep, "sync-fma1", all, sizes);
          for (const std::string_view name : {"exchange-uneven", "uneven-free"}) {
            const bool has_barrier = name == "exchange-uneven";
            add_block_sizes(sweep, name, few,
                            !has_barrier       ? std::vector{128}
                            : sweep.is_quick() ? std::vector{64, 512}
                                               : sizes);
            add_block_sizes(sweep, name, all, has_barrier ? sizes : std::vector{128});
          }
          // The same kernel with a constant id and with one known at run time, which reserves all barriers.
          for (const std::string_view name : {"exchange", "named-runtime"})
            sweep.add({.variant = &sweep.variant("barriers", name), .block_size = 64});
          if (sweep.is_quick()) return;

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
