// SPDX-License-Identifier: Apache-2.0
// Question: does it matter which resource limits occupancy?
// Expected: Hardly. But ballast, shared memory that a block requests and leaves unused, reduces the L1. So
//   each route runs with a small L1 (carve-out 100 %) and a large one (50 %), which separates the effect of
//   L1 size from that of warps. We know of no published comparison.
// Found: H200: with a large L1, ballast and block size agree within 1 %. Variants limited by registers are
//   up to 26 % slower in the L1-bound loop with the same instructions in another order: a difference of
//   code, not of occupancy.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

constexpr int block = 128;  // threads, unless the block size limits occupancy

int resident_warps(const theory::SmLimits& sm, int block_size, int registers) {
  return theory::occupancy(sm, {.block_size = block_size, .registers_per_thread = registers}).warps_per_sm;
}

/// Variants of a loop that differ in registers only, by ascending registers.
std::vector<const Variant*> variants_by_registers(const Sweep& sweep, const char* family,
                                                  const char* prefix) {
  std::vector<const Variant*> found;
  for (const Variant* v : sweep.variants(family, prefix))
    if (v->dials.route == RegisterRoute::maxnreg && !v->may_spill) found.push_back(v);
  std::ranges::sort(found, {}, [](const Variant* v) { return v->dials.register_cap; });
  return found;
}

/// The variant with the most registers at which exactly `warps` warps are resident; null if there is none.
const Variant* limited_by_registers(const theory::SmLimits& sm, const std::vector<const Variant*>& kernels,
                                    int warps) {
  const Variant* found = nullptr;
  for (const Variant* v : kernels)
    if (resident_warps(sm, block, v->dials.register_cap) == warps) found = v;
  return found;
}

/// The smallest block size that limits residency to exactly `warps` warps; 0 if there is none.
int limiting_block_size(const theory::SmLimits& sm, int registers, int warps) {
  for (int size = sm.warp_size; size <= sm.max_threads_per_block; size += sm.warp_size)
    if (resident_warps(sm, size, registers) == warps) return size;
  return 0;
}

/// The variant for blocks of `block_size` threads with a proportional working set, so that the L1 demand per
/// warp is the same; null if there is none.
const Variant* with_block_size(const Sweep& sweep, const Variant& kernel, int block_size) {
  for (const Variant* v : sweep.variants(kernel.family))
    if (v->entry == kernel.entry && v->dials.working_set_bytes * block ==
                                        kernel.dials.working_set_bytes * static_cast<std::size_t>(block_size))
      return v;
  return nullptr;
}

}  // namespace

const AddExperiment same_occupancy{{
    .name = "same_occupancy",
    .question = "Does it matter which resource limits occupancy?",
    .dial = "occupancy_theoretical",
    .split_by = {"carveout_percent"},
    .words = {{"cache_reuse", "cached reads"},
              {"live_values", ""},
              {"idle_values", ""},
              {"working_set_bytes", ""},
              {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          const theory::SmLimits& sm = sweep.sm();
          const auto eighths = sweep.by_preset({4}, {2, 3, 4, 6}, {1, 2, 3, 4, 5, 6, 7});
          constexpr int small_l1 = 100;
          constexpr int large_l1 = 50;  // half for ballast, half for the L1

          struct Subject {
            const char* family;
            const char* prefix;
            std::string words;
            bool uses_l1;
          };
          for (const auto& [family, prefix, words, uses_l1] :
               {Subject{"register_pressure", "load-", "load", true},
                Subject{"register_pressure", "fma-", "fma", false},
                Subject{"cache_reuse", "ilp1-4KiB", "L1, 1 KiB per warp", true}}) {
            const auto kernels = variants_by_registers(sweep, family, prefix);
            const Variant& lean = *kernels.front();
            std::vector<int> carveouts{small_l1};
            if (uses_l1) carveouts.push_back(large_l1);
            for (const int eighth : eighths) {
              const int warps = sm.max_warps_per_sm() * eighth / 8;
              if (warps % (block / sm.warp_size) != 0) continue;
              const Variant* const wide = limited_by_registers(sm, kernels, warps);
              const int size = limiting_block_size(sm, lean.dials.register_cap, warps);
              const Variant* const resized = size != 0 ? with_block_size(sweep, lean, size) : nullptr;
              for (const int carveout : carveouts) {
                sweep.add({.curve = words + ", by shared memory",
                           .variant = &lean,
                           .block_size = block,
                           .resident_blocks = warps / (block / sm.warp_size),
                           .carveout_percent = carveout});
                if (wide != nullptr)
                  sweep.add({.curve = words + ", by registers",
                             .variant = wide,
                             .block_size = block,
                             .carveout_percent = carveout});
                if (resized != nullptr)
                  sweep.add({.curve = words + ", by block size",
                             .variant = resized,
                             .block_size = size,
                             .carveout_percent = carveout});
              }
            }
          }
        },
}};

}  // namespace occbench
