// SPDX-License-Identifier: Apache-2.0
// Measures a case's block times, counters and energy in extra launches.
#pragma once

#include <atomic>
#include <optional>

#include "harness/measure/case_progress.hpp"
#include "harness/measure/counters.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/time_spent.hpp"
#include "harness/measure/timing.hpp"

namespace occbench {

class ExtraLaunches {
 public:
  ExtraLaunches(const Stream& stream, const Device& device, const Precision& precision, Timer& timer,
                const CounterGroups& counters, TimeSpent& time_spent);

  /// Times the dispatch of blocks that do not compete for resources, which slot_time() needs.
  void measure_dispatch();
  /// Repeats the timed launch with a census. nullopt where its time differs, its blocks are too short, or its
  /// grid is huge.
  std::optional<SlotTime> slot_time(const CaseProgress& progress);

  [[nodiscard]] bool wants_counters() const { return counters_.is_enabled(); }
  /// One launch per counter pass, each with the L2 in the state of the timed launches.
  Counts count(const CaseProgress& progress);
  /// Releases the device's counters.
  void release_counters() { counters_.release(); }

  /// Launches back to back for at least Precision::energy_s while the board counts its energy; nullopt where
  /// it has no counter, or on `stop`.
  std::optional<Energy> energy(const CaseProgress& progress, const std::atomic<bool>& stop);

 private:
  const Stream& stream_;
  const Device& device_;
  const Precision& precision_;
  Timer& timer_;
  Counters counters_;
  Dispatch dispatch_;
  TimeSpent& time_spent_;
};

}  // namespace occbench
