// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/intercepted_launch.hpp"

#include <atomic>
#include <ctime>

namespace occbench::attach {

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::uint16_t thread_number() {
  static std::atomic<unsigned> next{0};
  thread_local const auto number = static_cast<std::uint16_t>(next++);
  return number;
}

}  // namespace occbench::attach
