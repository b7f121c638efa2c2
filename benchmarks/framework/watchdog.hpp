// SPDX-License-Identifier: Apache-2.0
// A kernel that never ends cannot be ended, but its process can.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "harness/measure/plan.hpp"

namespace occbench {

/// Calls `expired` from a thread of its own when a case's turn takes longer than `timeout_s` (0: it may take
/// for ever).
class Watchdog {
 public:
  Watchdog(double timeout_s, std::function<void(const Case&)> expired);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// As Runner::Watch: a turn begins, or with null ends.
  void turn(const Case* c);

 private:
  void wait();

  const double timeout_s_;
  const std::function<void(const Case&)> expired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Case> case_;
  std::size_t turns_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace occbench
