// SPDX-License-Identifier: Apache-2.0
// The options of `occbench attach` for the library in a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/attach/preload/schedule.hpp"

namespace occbench::attach {

/// What times a launch: events around it, or CUPTI's record of its kernel, where CUPTI is free. `automatic`
/// takes no CUPTI that the program has loaded.
enum class Timing { events, activity, automatic };

/// Read from the environment.
struct Options {
  std::string folder;
  bool observe = false;
  bool apply = false;         ///< the levels of the folder's advice, in every launch; nothing is timed
  bool all = false;           ///< also grids whose blocks may wait for each other, under a watchdog
  bool profiler_api = false;  ///< launches between cudaProfilerStart and cudaProfilerStop
  bool by_range = false;      ///< a kernel of two NVTX ranges is two
  bool counters = false;      ///< PM sampling beside CUPTI's records
  Timing timing = Timing::events;
  Plan plan;
  double budget = 0.2;
  std::vector<double> levels = {0.75, 0.5, 0.25};
  std::vector<double> sms;     ///< shares of the SMs to confine launches to, most first
  std::vector<int> registers;  ///< caps to try in place of levels
  std::uint64_t after = 0;     ///< launches of the process that stay untouched first
  double duration_s = 0;       ///< 0: without an end
  std::string kernel;          ///< POSIX extended regular expression; empty: all
  std::size_t limit_bytes = std::size_t{32} << 20;
  pid_t only_child_of = 0;   ///< 0: all descendants
  std::string why_disabled;  ///< why the library does nothing in this process; empty: it does

  /// Whether a watchdog looks for launches that do not end.
  [[nodiscard]] bool has_risk() const { return all || !sms.empty(); }
};

/// nullopt where this process is not to be attached.
[[nodiscard]] std::optional<Options> options_from_environment();

}  // namespace occbench::attach
