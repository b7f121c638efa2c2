// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/occupancy/cliffs.hpp"

#include <algorithm>

#include "harness/theory/occupancy/search.hpp"

namespace occbench::theory {
namespace {

/// Bisects one dial, set by `set`, over [min, max]: using more of a resource never adds a block.
template <typename Set>
Cliffs cliffs_of(const SmLimits& sm, Footprint footprint, std::int64_t own, std::int64_t min,
                 std::int64_t max, Set set) {
  const auto at = [&](std::int64_t value) {
    set(footprint, value);
    return occupancy(sm, footprint);
  };
  const int blocks = at(own).blocks_per_sm;
  const auto cliff = [&](std::int64_t value) {
    const Occupancy o = at(value);
    return Cliff{value, value - own, o.blocks_per_sm, o.fraction};
  };
  Cliffs found;
  if (own < min) return found;
  const std::int64_t end = max + 1;
  const std::int64_t fewer = first_true(std::min(own, max) + 1, end,
                                        [&](std::int64_t value) { return at(value).blocks_per_sm < blocks; });
  if (fewer < end) found.loses = cliff(fewer);
  const std::int64_t no_more = first_true(
      min, std::min(own, end), [&](std::int64_t value) { return at(value).blocks_per_sm <= blocks; });
  if (no_more > min) found.gains = cliff(no_more - 1);
  return found;
}

/// Searches outwards from the footprint's block size in whole warps: occupancy is not monotone in it.
Cliffs cliffs_of_threads(const SmLimits& sm, const Footprint& footprint) {
  const Occupancy own = occupancy(sm, footprint);
  const int max_threads = std::min(sm.max_threads_per_block, footprint.max_block_size);
  Cliffs found;
  const auto try_size = [&](int threads) {
    if (threads < sm.warp_size || threads > max_threads || threads == footprint.block_size) return;
    Footprint f = footprint;
    f.block_size = threads;
    const Occupancy o = occupancy(sm, f);
    auto& side = o.fraction < own.fraction ? found.loses : found.gains;
    if (o.fraction != own.fraction && !side)
      side = {threads, threads - footprint.block_size, o.blocks_per_sm, o.fraction};
  };
  const int below = std::min(footprint.block_size, max_threads) / sm.warp_size;
  const bool is_whole = footprint.block_size % sm.warp_size == 0;
  for (int distance = 0; distance <= sm.max_threads_per_block / sm.warp_size; ++distance) {
    // If the block size is not a multiple of a warp, the nearer multiple comes first.
    const int up = (below + distance + (is_whole ? 0 : 1)) * sm.warp_size;
    const int down = (below - distance) * sm.warp_size;
    const bool up_first = up - footprint.block_size <= footprint.block_size - down;
    try_size(up_first ? up : down);
    try_size(up_first ? down : up);
  }
  return found;
}

}  // namespace

AllCliffs cliffs(const SmLimits& sm, const Footprint& f) {
  const auto smem_limit = static_cast<std::int64_t>(smem_limit_per_block_bytes(sm));
  const auto static_smem = static_cast<std::int64_t>(f.static_smem_bytes);
  return {
      .registers =
          cliffs_of(sm, f, f.registers_per_thread, 1, 255,
                    [](Footprint& g, std::int64_t v) { g.registers_per_thread = static_cast<int>(v); }),
      .dynamic_smem =
          cliffs_of(sm, f, static_cast<std::int64_t>(f.dynamic_smem_bytes), 0,
                    std::max<std::int64_t>(smem_limit - static_smem, 0),
                    [](Footprint& g, std::int64_t v) { g.dynamic_smem_bytes = static_cast<std::size_t>(v); }),
      .threads = cliffs_of_threads(sm, f),
      .barriers = cliffs_of(sm, f, f.barriers, 0, 16,
                            [](Footprint& g, std::int64_t v) { g.barriers = static_cast<int>(v); }),
  };
}

std::optional<JointGain> gains_together(const SmLimits& sm, const Footprint& footprint) {
  const Occupancy own = occupancy(sm, footprint);
  const AllCliffs alone = cliffs(sm, footprint);
  if (!own.is_launchable() || alone.registers.gains || alone.dynamic_smem.gains) return std::nullopt;
  Footprint f = footprint;
  const auto fits_one_more = [&] { return occupancy(sm, f).blocks_per_sm > own.blocks_per_sm; };
  f.dynamic_smem_bytes = 0;
  const int too_many = first_true(1, footprint.registers_per_thread + 1, [&](int registers) {
    f.registers_per_thread = registers;
    return !fits_one_more();
  });
  if (too_many == 1) return std::nullopt;
  f.registers_per_thread = too_many - 1;
  const auto own_bytes = static_cast<std::int64_t>(footprint.dynamic_smem_bytes);
  const std::int64_t smem_bytes = first_true(std::int64_t{1}, own_bytes + 1,
                                             [&](std::int64_t bytes) {
                                               f.dynamic_smem_bytes = static_cast<std::size_t>(bytes);
                                               return !fits_one_more();
                                             }) -
                                  1;
  f.dynamic_smem_bytes = static_cast<std::size_t>(smem_bytes);
  const Occupancy gained = occupancy(sm, f);
  const auto cliff = [&](std::int64_t value, std::int64_t before) {
    return Cliff{value, value - before, gained.blocks_per_sm, gained.fraction};
  };
  return JointGain{cliff(f.registers_per_thread, footprint.registers_per_thread),
                   cliff(smem_bytes, own_bytes)};
}

Unused unused_resources(const SmLimits& sm, const Footprint& footprint) {
  const Occupancy o = occupancy(sm, footprint);
  const int blocks = o.blocks_per_sm;
  Unused unused{.warps = sm.max_warps_per_sm() - o.warps_per_sm,
                .blocks = o.block_limit.value_or(sm.max_blocks_per_sm) - blocks,
                .registers = sm.registers_per_sm - blocks * o.allocated_registers_per_block,
                .smem_bytes = smem_capacity_bytes(sm, footprint) - blocks * o.allocated_smem_per_block_bytes,
                .barriers = barriers_per_sm(sm)};
  if (unused.barriers) *unused.barriers -= blocks * footprint.barriers;
  return unused;
}

}  // namespace occbench::theory
