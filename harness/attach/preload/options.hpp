// SPDX-License-Identifier: Apache-2.0
// The options of `occbench attach`, as the library in a process reads them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/attach/preload/schedule.hpp"

namespace occbench::attach {

/// How launches are timed: by events around them, or by CUPTI's kernel records if CUPTI is free. `automatic`
/// does not use a CUPTI that the program has loaded.
enum class Timing { events, activity, automatic };

/// Read from the environment.
struct Options {
  std::string folder;
  bool observe = false;
  bool apply = false;         ///< every launch gets the level of the folder's advice; nothing is timed
  bool all = false;           ///< also grids whose blocks may wait for each other, under a watchdog
  bool profiler_api = false;  ///< launches between cudaProfilerStart and cudaProfilerStop
  bool by_range = false;      ///< kernels in different NVTX ranges are different kernels
  bool counters = false;      ///< PM sampling next to CUPTI's records
  Timing timing = Timing::events;
  Plan plan;
  double budget = 0.2;
  std::vector<double> levels = {0.75, 0.5, 0.25};
  std::vector<double> sms;     ///< shares of the SMs to confine launches to, most first
  std::vector<int> registers;  ///< register caps to try instead of levels
  std::uint64_t after = 0;     ///< number of first launches that stay untouched
  double duration_s = 0;       ///< 0: unlimited
  std::string kernel;          ///< POSIX extended regular expression; empty: all
  std::size_t limit_bytes = std::size_t{32} << 20;
  pid_t only_child_of = 0;   ///< 0: all descendants
  std::string why_disabled;  ///< why the library is inactive in this process; empty if active

  /// Whether a watchdog checks for launches that do not end.
  [[nodiscard]] bool needs_watchdog() const { return all || !sms.empty(); }
};

/// nullopt if this process is not to be attached to.
[[nodiscard]] std::optional<Options> options_from_environment();

}  // namespace occbench::attach
