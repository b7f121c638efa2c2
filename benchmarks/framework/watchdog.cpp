// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/watchdog.hpp"

#include <chrono>
#include <utility>

namespace occbench {

Watchdog::Watchdog(double timeout_s, std::function<void(const Case&)> on_timeout)
    : timeout_s_(timeout_s), on_timeout_(std::move(on_timeout)) {
  if (timeout_s_ > 0) thread_ = std::thread([this] { wait(); });
}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::on_case(const Case* c) {
  if (timeout_s_ <= 0) return;
  {
    const std::scoped_lock lock(mutex_);
    case_ = c ? std::optional(*c) : std::nullopt;
    ++calls_;
  }
  changed_.notify_one();
}

void Watchdog::wait() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const std::size_t calls = calls_;
    const auto is_over = [&] { return is_ending_ || calls_ != calls; };
    if (!case_)
      changed_.wait(lock, is_over);
    else if (!changed_.wait_for(lock, std::chrono::duration<double>(timeout_s_), is_over))
      return on_timeout_(*case_);
  }
}

}  // namespace occbench
