// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/watchdog.hpp"

#include <chrono>
#include <utility>

namespace occbench {

Watchdog::Watchdog(double timeout_s, std::function<void(const Case&)> expired)
    : timeout_s_(timeout_s), expired_(std::move(expired)) {
  if (timeout_s_ > 0) thread_ = std::thread([this] { wait(); });
}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::turn(const Case* c) {
  if (timeout_s_ <= 0) return;
  {
    const std::scoped_lock lock(mutex_);
    case_ = c ? std::optional(*c) : std::nullopt;
    ++turns_;
  }
  changed_.notify_one();
}

void Watchdog::wait() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const std::size_t turn = turns_;
    const auto is_over = [&] { return ends_ || turns_ != turn; };
    if (!case_)
      changed_.wait(lock, is_over);
    else if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_s_), is_over))
      return expired_(*case_);
  }
}

}  // namespace occbench
