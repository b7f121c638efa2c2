// SPDX-License-Identifier: Apache-2.0
// How many barriers a kernel has, by the blocks that ncu says they allow.
#pragma once

#include <optional>

#include "harness/binary/kernel_use.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::binary {

/// `taken` is one of `least` to `most`, which all allow as many blocks.
struct BarrierCount {
  int taken, least, most;
};

/// The counts that agree with ncu's 'Block Limit Barriers'. nullopt if the report has the count itself or
/// lacks the limit, if none agrees, and before cc 9.0, where cuda_occupancy.h has no such limit.
[[nodiscard]] std::optional<BarrierCount> barriers_by_limit(const theory::SmLimits& sm, const KernelUse& use);

}  // namespace occbench::binary
