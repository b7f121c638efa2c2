// SPDX-License-Identifier: Apache-2.0
// Question: is spilling worth the occupancy that __launch_bounds__ or -maxrregcount buys? CUDA C++
//   Programming Guide, 'Launch Bounds'; PMPP 4.7.
// Expected: Seldom. A cap just below need may pay with warps that wait for memory. The hash fills its pipe
//   without them; the gemm loses a multiple with each step down. Shared memory holds the spills of a few
//   registers at most, and helps that far.
// Found: H200: never. The stencil falls from 41 % of DRAM's rate at 76 registers to 30-38 % at 64 and 6 % at
//   40; it does best with fewer warps (57 % at 96 registers, 20 warps). The gemm at 32 registers: 1.4 % of
//   FP32's.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// The least share of the L1 that all resident blocks' shared memory takes: the rest is for spills and loads.
int carveout_of(const Sweep& sweep, const Variant& v) {
  constexpr std::size_t spilled = std::size_t{160}
                                  << 10;  // what ptxas fills of an SM's shared memory, whatever the bounds
  if (v.name.ends_with("-smemspill"))
    return static_cast<int>(std::min<std::size_t>(100, 100 * spilled / sweep.sm().smem_per_sm_bytes + 1));
  if (v.series == "gemm") return 50;  // its operands
  return sweep.large_l1_carveout();
}

/// Of every kernel its own choice, a bound that takes nothing, one that takes some, and one that takes most.
bool essential(const Variant& v) {
  for (const std::string_view dial :
       {"free", "bounds256x2", "bounds256x4", "bounds256x8", "bounds256x8-smemspill"})
    if (v.name == v.series + "-" + std::string(dial)) return true;
  return false;
}

/// Points between others of the same curve.
bool in_between(const Variant& v) {
  for (const std::string_view dial : {"-maxnreg56", "-maxnreg72", "-bounds256x1"})
    if (v.name.ends_with(dial)) return true;
  return false;
}

}  // namespace

const AddExperiment launch_bounds_roulette{{
    .name = "launch_bounds_roulette",
    .question = "Is spilling worth the occupancy that __launch_bounds__ or -maxrregcount buys?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "block_size"},
    .scale = Scale::best,
    .compares_kernels = true,
    .outside_model = "its stencil reads other blocks' rows, which spills evict from the caches",
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("launch_bounds_roulette")) {
            if (sweep.quick() ? !essential(*v) : !sweep.at_least(Preset::full) && in_between(*v)) continue;
            const int block = v->fixed_block_size != 0 ? v->fixed_block_size : 256;
            const int carveout = carveout_of(sweep, *v);
            sweep.add({.variant = v, .block_size = block, .carveout_percent = carveout});
            if (!sweep.at_least(Preset::full)) continue;
            // The L1 taken away, and blocks of the sizes that the bounds are also compiled for.
            if (carveout < 100) sweep.add({.variant = v, .block_size = block});
            if (v->fixed_block_size == 0)
              for (const int other : {128, 512})
                sweep.add({.variant = v, .block_size = other, .carveout_percent = carveout});
          }
        },
}};

}  // namespace occbench
