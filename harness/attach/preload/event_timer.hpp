// SPDX-License-Identifier: Apache-2.0
// Times launches by a pair of events each, from a pool per context.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/launch_times.hpp"
#include "harness/attach/preload/ticket.hpp"

namespace occbench::attach {

constexpr double events_us = 3;  ///< what the GPU loses by the two events of a timed launch

/// Not thread-safe.
class EventTimer {
 public:
  EventTimer(const Driver& driver, LaunchTimes& times) : driver_(driver), times_(times) {}

  /// Sets the ticket's flags and records its first event; false where that fails.
  bool start(Ticket& ticket, Context& context);
  /// Its second event is recorded.
  void await(const Pending& pending);
  /// The launch failed, or its second event.
  void cancel(const Ticket& ticket);
  /// Reads times, where many are awaited. Returns whether more may be.
  bool make_room();
  /// Reads times from the oldest launch on, up to the first that has not ended.
  void poll();
  /// Before the context ends.
  void forget(const Context& context);
  /// The first launch that has not ended; null: all have.
  [[nodiscard]] const Ticket* first_running() const;

 private:
  [[nodiscard]] bool is_other_stream_pending(CUstream stream) const;
  void remove_from_stream(CUstream stream);

  const Driver& driver_;
  LaunchTimes& times_;
  std::deque<Pending> pending_;
  std::map<CUstream, std::size_t> pending_in_;  ///< their number, in each stream that has any
};

}  // namespace occbench::attach
