// SPDX-License-Identifier: Apache-2.0
// Passes the time of a launch, or its absence, to its schedule and to the journal.
#pragma once

#include "harness/attach/preload/journal.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/ticket.hpp"

namespace occbench::attach {

class LaunchTimes {
 public:
  LaunchTimes(Journal& journal, Budget& budget) : journal_(journal), budget_(budget) {}

  void add(const Pending& done, double time_us) {
    const Ticket& t = done.ticket;
    if (t.signature->schedule) t.signature->schedule->add_time(t.draw, time_us, budget_);
    journal_.add({.signature = static_cast<std::uint32_t>(t.signature->number + 1),
                  .arm = static_cast<std::uint8_t>(t.draw.arm),
                  .flags = t.flags,
                  .thread = done.thread,
                  .time_us = static_cast<float>(time_us),
                  .sequence = static_cast<std::uint32_t>(t.sequence)});
  }
  /// Makes the arm due again.
  void add_none(const Ticket& ticket) {
    if (ticket.signature->schedule) ticket.signature->schedule->refuse(ticket.draw, budget_, false);
  }

 private:
  Journal& journal_;
  Budget& budget_;
};

}  // namespace occbench::attach
