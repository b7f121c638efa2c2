// SPDX-License-Identifier: Apache-2.0
// A thread that checks the program's launches periodically.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace occbench::attach {

class Watchdog {
 public:
  using Pause = std::function<std::chrono::milliseconds()>;

  /// Calls `look` after each pause until the end. The thread blocks all signals. Throws std::system_error if
  /// the thread cannot be created.
  explicit Watchdog(
      std::function<void()> look, Pause pause = [] { return std::chrono::milliseconds(500); });
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { end(); }
  void end() noexcept;

 private:
  void run();

  std::function<void()> look_;
  Pause pause_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace occbench::attach
