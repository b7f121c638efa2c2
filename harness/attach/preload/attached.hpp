// SPDX-License-Identifier: Apache-2.0
// The library's state in this process: made at the first use of the driver, ended with the process, and
// begun anew in the child of a fork.
#pragma once

#include "harness/attach/preload/launches.hpp"

namespace occbench::attach {

/// Creates the state at the first call; null if this process is not attached to.
[[nodiscard]] Launches* get_launches() noexcept;
/// Null if the state does not exist yet.
[[nodiscard]] Launches* find_launches() noexcept;

/// During its lifetime, driver calls in this thread are not counted as launches of the program.
class OwnCallGuard {
 public:
  OwnCallGuard();
  OwnCallGuard(const OwnCallGuard&) = delete;
  OwnCallGuard& operator=(const OwnCallGuard&) = delete;
  ~OwnCallGuard();
  [[nodiscard]] static bool is_in_this_thread() noexcept;
};

/// Reads the available times before the process ends without its handlers, if that cannot hang.
/// Async-signal-safe.
void drain_at_exit() noexcept;

}  // namespace occbench::attach
