// SPDX-License-Identifier: Apache-2.0
// Question: do __launch_bounds__ or -maxrregcount gain more occupancy than their spills cost? CUDA C++
//   Programming Guide, 'Launch Bounds'; PMPP 4.7.
// Expected: Rarely. A cap just below the kernel's need may pay if warps wait for memory. The hash fills its
//   pipe without more warps; the gemm loses a multiple per step. Spilling to shared memory helps for a few
//   registers only.
// Found: H200: never. The stencil falls from 41 % of DRAM bandwidth at 76 registers to 30-38 % at 64 and 6
//   % at 40; it is fastest with fewer warps (57 % at 96 registers, 20 warps). The gemm at 32 registers
//   reaches 1.4 % of the FP32 peak.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// The smallest carve-out that holds the shared memory of all resident blocks, to leave the L1 to spills and
/// loads.
int carveout_of(const Sweep& sweep, const Variant& v) {
  constexpr std::size_t spilled = std::size_t{160}
                                  << 10;  // of an SM's shared memory that ptxas uses for spills at any bounds
  if (v.name.ends_with("-smemspill"))
    return static_cast<int>(std::min<std::size_t>(100, 100 * spilled / sweep.sm().smem_per_sm_bytes + 1));
  if (v.series == "gemm") return 50;  // its operands
  return sweep.large_l1_carveout();
}

/// Per kernel: the compiler's choice, and bounds that take no, some and most of its registers.
bool is_essential(const Variant& v) {
  for (const std::string_view dial :
       {"free", "bounds256x2", "bounds256x4", "bounds256x8", "bounds256x8-smemspill"})
    if (v.name == v.series + "-" + std::string(dial)) return true;
  return false;
}

/// Intermediate points of a curve.
bool is_intermediate(const Variant& v) {
  for (const std::string_view dial : {"-maxnreg56", "-maxnreg72", "-bounds256x1"})
    if (v.name.ends_with(dial)) return true;
  return false;
}

}  // namespace

const AddExperiment launch_bounds_roulette{{
    .name = "launch_bounds_roulette",
    .question = "Do __launch_bounds__ or -maxrregcount gain more occupancy than their spills cost?",
    .dial = "registers_per_thread",
    .split_by = {"register_route", "block_size"},
    .scale = Scale::best,
    .compares_kernels = true,
    .outside_model = "its stencil reads other blocks' rows, which spills evict from the caches",
    .words = {{"gemm", "matrix products"},
              {"stencil", "stencils"},
              {"hash", "hashes"},
              {"gemm-smemspill", "matrix products that spill to shared memory"},
              {"stencil-smemspill", "stencils that spill to shared memory"},
              {"hash-smemspill", "hashes that spill to shared memory"}},
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("launch_bounds_roulette")) {
            if (sweep.is_quick() ? !is_essential(*v) : !sweep.at_least(Preset::full) && is_intermediate(*v))
              continue;
            const int block = v->fixed_block_size != 0 ? v->fixed_block_size : 256;
            const int carveout = carveout_of(sweep, *v);
            sweep.add({.variant = v, .block_size = block, .carveout_percent = carveout});
            if (!sweep.at_least(Preset::full)) continue;
            // Also with the smallest L1, and with the other block sizes that the bounds allow.
            if (carveout < 100) sweep.add({.variant = v, .block_size = block});
            if (v->fixed_block_size == 0)
              for (const int other : {128, 512})
                sweep.add({.variant = v, .block_size = other, .carveout_percent = carveout});
          }
        },
}};

}  // namespace occbench
