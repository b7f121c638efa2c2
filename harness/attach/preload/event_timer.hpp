// SPDX-License-Identifier: Apache-2.0
// Times launches by a pair of events each, from a pool per context.
#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/intercepted_launch.hpp"
#include "harness/attach/preload/launch_times.hpp"

namespace occbench::attach {

constexpr double events_us = 3;  ///< GPU time that the two events of a timed launch cost

/// Not thread-safe.
class EventTimer {
 public:
  EventTimer(const Driver& driver, LaunchTimes& times) : driver_(driver), times_(times) {}

  /// Sets the launch's flags and records its first event; false on failure.
  bool start(InterceptedLaunch& intercepted, Context& context);
  /// Called after its second event was recorded.
  void await(const Pending& pending);
  /// Called if the launch or its second event failed.
  void cancel(const InterceptedLaunch& intercepted);
  /// Reads times if many are pending. Returns whether more may be pending.
  bool make_room();
  /// Reads times from the oldest launch up to the first that has not ended.
  void poll();
  /// Call before the context is destroyed.
  void forget(const Context& context);
  /// The first launch that has not ended, or null.
  [[nodiscard]] const InterceptedLaunch* first_running() const;

 private:
  [[nodiscard]] bool is_other_stream_pending(CUstream stream) const;
  void remove_from_stream(CUstream stream);

  const Driver& driver_;
  LaunchTimes& times_;
  std::deque<Pending> pending_;
  std::map<CUstream, std::size_t> pending_in_;  ///< their number per stream, if not 0
};

}  // namespace occbench::attach
