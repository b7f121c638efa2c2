// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/cliffs.hpp"

#include <algorithm>

#include "harness/theory/search.hpp"

namespace occbench::theory {
namespace {

/// Bisects one dial, which `set` turns, over [least, most]: more of any resource never adds a block.
template <typename Set>
Cliffs cliffs_of(const SmLimits& sm, Footprint footprint, std::int64_t own, std::int64_t least,
                 std::int64_t most, Set set) {
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
  if (own < least) return found;
  const std::int64_t fewer =
      first_true(own, most + 1, [&](std::int64_t value) { return at(value).blocks_per_sm < blocks; });
  if (own <= most && fewer <= most) found.loses = cliff(fewer);
  const std::int64_t no_more = first_true(
      least, std::min(own, most + 1), [&](std::int64_t value) { return at(value).blocks_per_sm <= blocks; });
  if (no_more > least) found.gains = cliff(no_more - 1);
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
      .threads = cliffs_of(sm, f, f.block_size, 1, std::min(sm.max_threads_per_block, f.max_block_size),
                           [](Footprint& g, std::int64_t v) { g.block_size = static_cast<int>(v); }),
      .barriers = cliffs_of(sm, f, f.barriers, 0, 16,
                            [](Footprint& g, std::int64_t v) { g.barriers = static_cast<int>(v); }),
  };
}

Slack slack(const SmLimits& sm, const Footprint& footprint) {
  const Occupancy o = occupancy(sm, footprint);
  const int blocks = o.blocks_per_sm;
  Slack unused{.warps = sm.max_warps_per_sm() - o.warps_per_sm,
               .blocks = o.block_limit.value_or(sm.max_blocks_per_sm) - blocks,
               .registers = sm.registers_per_sm - blocks * o.allocated_registers_per_block,
               .smem_bytes = smem_capacity_bytes(sm, footprint) - blocks * o.allocated_smem_per_block_bytes,
               .barriers = barriers_per_sm(sm)};
  if (unused.barriers) *unused.barriers -= blocks * footprint.barriers;
  return unused;
}

}  // namespace occbench::theory
