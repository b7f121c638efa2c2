// SPDX-License-Identifier: Apache-2.0
// Low-priority background threads.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace occbench {

/// Starts threads that call `work` at priority `nice`: two fewer than the machine has processors, but 1 to
/// 16, since other processes may use other GPUs of the host. Fewer if the system allows no more; throws
/// std::system_error if it allows none.
template <class Work>
void start_behind(std::vector<std::jthread>& threads, int nice, const Work& work) {
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 3U, 18U) - 2;
  try {
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([nice, work] {
        setpriority(PRIO_PROCESS, 0, nice);  // per thread on Linux
        work();
      });
  } catch (const std::system_error&) {
    if (threads.empty()) throw;
  }
}

}  // namespace occbench
