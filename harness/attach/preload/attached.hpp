// SPDX-License-Identifier: Apache-2.0
// The library's state in this process: made at the first use of the driver, ended with the process, and
// begun anew in the child of a fork.
#pragma once

#include "harness/attach/preload/launches.hpp"

namespace occbench::attach {

/// Made at the first call; null where this process is not attached to.
[[nodiscard]] Launches* get_launches() noexcept;
/// Null where it is not made yet.
[[nodiscard]] Launches* find_launches() noexcept;

/// While one lives, what the driver calls of itself in this thread is no launch of the program's.
class Within {
 public:
  Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within();
  [[nodiscard]] static bool is_in_this_thread() noexcept;
};

/// Before the process ends without its handlers: reads the times that are there, where that cannot hang.
/// Async-signal-safe.
void drain_at_exit() noexcept;

}  // namespace occbench::attach
