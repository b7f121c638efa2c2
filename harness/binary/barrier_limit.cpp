// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/barrier_limit.hpp"

#include <algorithm>

namespace occbench::binary {

std::optional<BarrierCount> barriers_by_limit(const theory::SmLimits& sm, const KernelUse& use) {
  const auto all = theory::barriers_per_sm(sm);
  const auto slots = theory::max_blocks_per_sm(sm.cc_major, sm.cc_minor);
  if (use.barriers || !use.barrier_block_limit || !all || !slots) return std::nullopt;
  constexpr int most_barriers = 16;  // ids 0 to 15
  std::optional<BarrierCount> found;
  for (int count = 1; count <= most_barriers; ++count) {
    // ncu prints no more blocks than the SM has slots.
    if (std::min(*all / count, *slots) != *use.barrier_block_limit) continue;
    if (!found) found = {count, count, count};
    found->most = count;
  }
  // One stands for no report at all, and the most for an id that is not constant: it reserves 16.
  if (found && found->least > 1) found->taken = found->most;
  return found;
}

}  // namespace occbench::binary
