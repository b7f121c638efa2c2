// SPDX-License-Identifier: Apache-2.0
// What is measured of a case beside its time, in launches of its own: block times, counters, energy.
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

  /// Times the dispatch of blocks that compete for nothing, which slot_time() needs.
  void measure_dispatch();
  /// One more launch as timed, with a census. nullopt where it took another time, its blocks are too short,
  /// or its grid is huge.
  std::optional<SlotTime> slot_time(const CaseProgress& progress);

  [[nodiscard]] bool wants_counters() const { return counters_.wanted(); }
  /// One launch per pass of the counters, each with the L2 in the state of the timed ones.
  Counts count(const CaseProgress& progress);
  /// Releases the device's counters.
  void release_counters() { counters_.release(); }

  /// Launches back to back for Precision::energy_s or a little more while the board counts its energy;
  /// nullopt where it does not, or on `stop`.
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
