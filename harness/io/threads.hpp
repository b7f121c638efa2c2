// SPDX-License-Identifier: Apache-2.0
// Threads that work beside the one that launches, and give way to it.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace occbench {

/// Starts threads that call `work`, behind all others by `nice`: as many as the machine has processors but
/// two, at least one and at most 16, since other processes may run on other GPUs of the host. Fewer where the
/// system gives no more; throws std::system_error where it gives none.
template <class Work>
void start_behind(std::vector<std::jthread>& threads, int nice, const Work& work) {
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 3U, 18U) - 2;
  try {
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([nice, work] {
        setpriority(PRIO_PROCESS, 0, nice);  // on Linux a thread's own
        work();
      });
  } catch (const std::system_error&) {
    if (threads.empty()) throw;
  }
}

}  // namespace occbench
