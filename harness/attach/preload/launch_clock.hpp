// SPDX-License-Identifier: Apache-2.0
// The time over which the program launches, and its steps.
#pragma once

#include <cstdint>
#include <string>

#include "harness/attach/preload/record_writer.hpp"

namespace occbench::attach {

/// Not thread-safe.
class LaunchClock {
 public:
  explicit LaunchClock(RecordWriter& writer) : writer_(writer) {}

  /// Called at each launch: adds the time since the previous one.
  void count();
  /// Writes a step that begins now; it ends when the next one begins.
  void write_step(const std::string& range);
  /// Only time between these calls counts. A profiled part of the program may be a step of its own.
  void start_profiling();
  void stop_profiling(bool is_step);

 private:
  /// Writes at most the maximum number of steps.
  void write(double begin_s, double duration_s, const std::string& range);

  RecordWriter& writer_;
  double last_launch_s_ = 0;  ///< or when profiling began; 0: neither yet
  double profiled_from_s_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace occbench::attach
