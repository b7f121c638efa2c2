// SPDX-License-Identifier: Apache-2.0
// Why achieved occupancy is below theoretical: by the begin and end of each block of one launch, without
// hardware counters.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "harness/device/census.cuh"

namespace occbench {

/// Where the warp slots of the device went between the first block's begin and the last one's end. An SM
/// holds as many blocks as theory says, each in a block slot; a block that begins takes the slot that
/// has been free for longest. All numbers are fractions of warp slots x time, so that
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

/// What nine in ten blocks took in a launch with `blocks_per_sm` slots per SM whose blocks compete for
/// nothing.
Dispatch dispatch_of(std::vector<CensusRecord> records, int blocks_per_sm);

/// By `records`, one per block, of a launch on `sm_count` SMs that in theory each hold `blocks_per_sm`
/// blocks, which are `occupancy_theoretical` of the warp slots. nullopt where a block left no record, more
/// SMs than `sm_count` show up, or all took less than a step of the timer.
///
/// A block can only write once its first warp is issued, which may be long after it became resident where
/// older blocks keep the pipes full. So it counts as resident from `dispatch` after its slot was free, unless
/// it wrote earlier; with the defaults, from when it wrote.
///
/// `resident` is ncu's sm__warps_active.avg.pct_of_peak_sustained_active / 100: warps over warp slots, summed
/// over the cycles in which an SM has a warp at all ('active'). SMs that wait for others, and those left
/// idle, count in `launch` only. All SMs share a clock, so that times stand for cycles.
///
/// What the records cannot see:
/// - Only thread 0 writes. Warps of a block that do equal work end together; where their work differs, a
///   block's time is its first warp's.
/// - A block's warps are resident a little before its first instruction and after its last, which counts as
///   turnover.
/// - Times come in steps of the global timer (32 ns on Hopper). Rounding is down at both ends, so that a
///   block's error is less than one step either way, and a mean over n blocks errs by some step / block time
///   / sqrt(6 n).
std::optional<SlotTime> slot_time(std::vector<CensusRecord> records, int sm_count, int blocks_per_sm,
                                  double occupancy_theoretical, const Dispatch& dispatch = {});

}  // namespace occbench
