// SPDX-License-Identifier: Apache-2.0
// Question: is the block size that cudaOccupancyMaxPotentialBlockSize returns the fastest? CUDA C++
//   Programming Guide, 'Occupancy Calculator'.
// Expected: Within a few per cent of the best for kernels that any full SM saturates. Slower for kernels
//   with barriers, since it returns the largest block size and smaller blocks wait less.
#include <stdexcept>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// A kernel that represents its family.
struct Representative {
  std::string_view family;
  std::string_view prefix;  ///< of the variant's name; the first match is used
  int register_cap = 0;     ///< by __maxnreg__; 0: none
  bool needs_l1 = false;
  Preset from = Preset::standard;
};

// For a kernel with up to 32 registers the API returns 1024. With more it returns a smaller multiple of 128,
// so those kernels also run at the sizes in between.
constexpr Representative representatives[] = {
    {.family = "stream", .prefix = "read-f32-4B-ilp1", .from = Preset::quick},
    {.family = "fma_chain", .prefix = "two-operand-ilp1"},
    {.family = "register_pressure", .prefix = "load", .register_cap = 40, .from = Preset::quick},
    {.family = "intensity", .prefix = "ilp1-fma16"},
    {.family = "cache_reuse", .prefix = "ilp1-8KiB", .needs_l1 = true},
    {.family = "divergence", .prefix = "uniform"},
    {.family = "barriers", .prefix = "exchange", .from = Preset::quick},
    {.family = "shared_latency", .prefix = "read16B-ilp1"},
    {.family = "launch_bounds_roulette", .prefix = "stencil-maxnreg80", .register_cap = 80, .needs_l1 = true},
    {.family = "launch_bounds_roulette",
     .prefix = "hash-maxnreg40",
     .register_cap = 40,
     .needs_l1 = true,
     .from = Preset::full},
};

const Variant& find(const Sweep& sweep, const Representative& r) {
  const RegisterRoute route = r.register_cap != 0 ? RegisterRoute::maxnreg : RegisterRoute::free;
  for (const Variant* v : sweep.variants(r.family, r.prefix))
    if (v->fixed_block_size == 0 && v->dials.route == route && v->dials.register_cap == r.register_cap)
      return *v;
  throw std::logic_error("experiment block_size_pick asks for " + std::string(r.family) + "." +
                         std::string(r.prefix) + "..., but no variant of that name runs at any block size");
}

}  // namespace

const AddExperiment block_size_pick{{
    .name = "block_size_pick",
    .question = "Is the block size from cudaOccupancyMaxPotentialBlockSize the fastest?",
    .dial = "block_size",
    .scale = Scale::best,
    .words = {{"exchange", "barrier exchanges"},
              {"cache_reuse", "cached reads"},
              {"uniform", "branchless FMA loops"},
              {"intensity", "loads with 16 FMAs each"},
              {"stencil", "stencils"},
              {"shared_latency", "shared-memory reads"}},
    .define =
        [](Sweep& sweep) {
          for (const Representative& r : representatives) {
            if (!sweep.at_least(r.from)) continue;
            std::vector<int> blocks{32, 64, 128, 256, 512, 1024};
            if (sweep.is_quick()) blocks = {32, 128, 512, 1024};
            if (r.register_cap != 0) blocks.insert(blocks.end(), {640, 768, 896});
            if (sweep.at_least(Preset::full)) blocks.insert(blocks.end(), {96, 192, 384});
            if (sweep.at_least(Preset::full) && r.register_cap == 0) blocks.push_back(768);
            const Variant& variant = find(sweep, r);
            for (const int block : blocks)
              if (block <= sweep.sm().max_threads_per_block &&
                  (variant.largest_block_size == 0 || block <= variant.largest_block_size))
                sweep.add({.variant = &variant,
                           .block_size = block,
                           .carveout_percent = r.needs_l1 ? sweep.large_l1_carveout() : 100});
          }
        },
}};

}  // namespace occbench
