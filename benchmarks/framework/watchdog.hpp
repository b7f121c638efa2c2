// SPDX-License-Identifier: Apache-2.0
// A kernel that hangs cannot be stopped, but its process can.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "harness/measure/plan.hpp"

namespace occbench {

/// Calls `on_timeout` from a thread of its own when work on a case exceeds `timeout_s` (0: no limit).
class Watchdog {
 public:
  Watchdog(double timeout_s, std::function<void(const Case&)> on_timeout);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// As Runner::OnCase: work on a case begins, or with null ends.
  void on_case(const Case* c);

 private:
  void wait(const std::stop_token& ending);

  const double timeout_s_;
  const std::function<void(const Case&)> on_timeout_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Case> case_;
  std::size_t calls_ = 0;  ///< of on_case
  std::jthread thread_;    // last: it uses the others
};

}  // namespace occbench
