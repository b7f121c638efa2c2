// SPDX-License-Identifier: Apache-2.0
// Passes the time of a launch, or its absence, to its schedule and to the writer.
#pragma once

#include "harness/attach/preload/intercepted_launch.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/schedule.hpp"

namespace occbench::attach {

class LaunchTimes {
 public:
  LaunchTimes(RecordWriter& writer, Budget& budget) : writer_(writer), budget_(budget) {}

  void add(const Pending& done, double time_us) {
    const InterceptedLaunch& t = done.intercepted;
    if (t.signature->schedule) t.signature->schedule->add_time(t.draw, time_us, budget_);
    writer_.add({.signature = static_cast<std::uint32_t>(t.signature->number + 1),
                 .arm = static_cast<std::uint8_t>(t.draw.arm),
                 .flags = t.flags,
                 .thread = done.thread,
                 .time_us = static_cast<float>(time_us),
                 .sequence = static_cast<std::uint32_t>(t.sequence)});
  }
  /// Makes the arm due again.
  void add_none(const InterceptedLaunch& intercepted) {
    if (intercepted.signature->schedule)
      intercepted.signature->schedule->refuse(intercepted.draw, budget_, false);
  }

 private:
  RecordWriter& writer_;
  Budget& budget_;
};

}  // namespace occbench::attach
