// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/watchdog.hpp"

#include <chrono>
#include <utility>

namespace occbench {

Watchdog::Watchdog(double timeout_s, std::function<void(const Case&)> on_timeout)
    : timeout_s_(timeout_s), on_timeout_(std::move(on_timeout)) {
  if (timeout_s_ > 0) thread_ = std::jthread([this](const std::stop_token& ending) { wait(ending); });
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

void Watchdog::wait(const std::stop_token& ending) {
  std::unique_lock lock(mutex_);
  while (!ending.stop_requested()) {
    const std::size_t calls = calls_;
    const auto has_changed = [&] { return calls_ != calls; };
    if (!case_)
      changed_.wait(lock, ending, has_changed);
    else if (!changed_.wait_for(lock, ending, std::chrono::duration<double>(timeout_s_), has_changed) &&
             !ending.stop_requested())
      return on_timeout_(*case_);
  }
}

}  // namespace occbench
