// SPDX-License-Identifier: Apache-2.0
// Explains why achieved occupancy is below theoretical, from the begin and end of each block of one launch
// and without hardware counters.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "harness/device/census.cuh"

namespace occbench {

/// How the device's warp slots were used from the first block's begin to the last block's end. An SM has as
/// many block slots as theory says; a block that begins takes the slot that was free for longest. All numbers
/// are fractions of warp slots x time, so that
///   theoretical = launch + ramp + turnover + tail + imbalance + unused
/// exactly, for any records.
struct SlotTime {
  double resident = 0;   ///< achieved occupancy as counters define it, below
  double launch = 0;     ///< achieved occupancy over all SMs and the whole launch
  double ramp = 0;       ///< lost from the launch's begin to the first block of a slot
  double turnover = 0;   ///< from a block's end to its successor's begin; negative where it began before that
  double tail = 0;       ///< from the last block of a slot to that of its SM: no block was left for it
  double imbalance = 0;  ///< from the last block of an SM to that of the device
  double unused =
      0;  ///< slots that never had a block: SMs left idle, a grid too small, no room for a cluster
};

/// How long the device takes at most to fill a slot, ns.
struct Dispatch {
  std::int64_t ramp_ns = std::numeric_limits<std::int64_t>::max();      ///< from the launch's first begin
  std::int64_t turnover_ns = std::numeric_limits<std::int64_t>::max();  ///< from the end of the block before
};

/// The time that nine in ten blocks took at most, in a launch with `blocks_per_sm` slots per SM whose blocks
/// do not compete for resources.
Dispatch dispatch_of(std::vector<CensusRecord> records, int blocks_per_sm);

/// `records` has one record per block of a launch on `sm_count` SMs. In theory each SM holds `blocks_per_sm`
/// blocks, which fill `occupancy_theoretical` of the warp slots. nullopt where a block wrote no record, more
/// SMs than `sm_count` have records, or the launch took less than a step of the timer.
///
/// A block writes once its first warp issues, which may be long after it became resident if older blocks keep
/// the pipes full. So it counts as resident from `dispatch` after its slot was free, unless it wrote earlier;
/// with the defaults, from when it wrote.
///
/// `resident` is ncu's sm__warps_active.avg.pct_of_peak_sustained_active / 100: warps over warp slots, summed
/// over the cycles in which an SM has any warp ('active'). SMs that wait for others or stay idle count only
/// in `launch`. All SMs share a clock, so that times stand for cycles.
///
/// Limits of the records:
/// - Only thread 0 writes. Warps of a block that do equal work end together; where their work differs, a
///   block's time is its first warp's.
/// - A block's warps are resident a little before its first instruction and after its last, which counts as
///   turnover.
/// - The global timer has steps (32 ns on Hopper). Both ends are rounded down, so that a block's error is
///   less than one step either way, and that of a mean over n blocks about step / block time / sqrt(6 n).
std::optional<SlotTime> slot_time(std::vector<CensusRecord> records, int sm_count, int blocks_per_sm,
                                  double occupancy_theoretical, const Dispatch& dispatch = {});

}  // namespace occbench
