// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/watchdog.hpp"

#include <csignal>
#include <utility>

namespace occbench::attach {

Watchdog::Watchdog(std::function<void()> look, Pause pause)
    : look_(std::move(look)), pause_(std::move(pause)) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, pause_(), [this] { return has_ended_; })) {
    lock.unlock();
    look_();
    lock.lock();
  }
}

void Watchdog::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace occbench::attach
