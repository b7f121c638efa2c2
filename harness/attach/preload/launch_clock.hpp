// SPDX-License-Identifier: Apache-2.0
// The time that the program launches for, and its steps.
#pragma once

#include <cstdint>
#include <string>

#include "harness/attach/preload/journal.hpp"

namespace occbench::attach {

/// Not thread-safe.
class LaunchClock {
 public:
  explicit LaunchClock(Journal& journal) : journal_(journal) {}

  /// At each launch: adds the time since the one before.
  void count();
  /// Writes a step that begins now; the next one's begin is its end.
  void write_step(const std::string& range);
  /// Time counts between these calls alone. A profiled part of the program may be a step of its own.
  void start_profiling();
  void stop_profiling(bool is_step);

 private:
  /// Not beyond the most that are written.
  void write(double begin_s, double duration_s, const std::string& range);

  Journal& journal_;
  double last_launch_s_ = 0;  ///< or when the program began to be profiled; 0: neither yet
  double profiled_from_s_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace occbench::attach
