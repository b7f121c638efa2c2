// SPDX-License-Identifier: Apache-2.0
// The options of `occbench run`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace occbench::commands {

/// Given or by default; --resume takes most of them from its run.
struct RunOptions {
  std::string preset = "standard";
  std::vector<std::string> experiments;
  std::string device;
  std::string task_device;  ///< "auto": the GPU of this task of a launcher
  std::string parameters;
  std::string output;
  std::string resume;
  std::vector<std::string> counters;
  std::vector<std::string> case_ids;
  int launches = 1;
  bool profile = false;
  std::uint64_t seed = 1;
  double stop_after_s = 0;   ///< 0: no limit
  double precision = 0.005;  ///< half of the 95 % interval, relative
  double timeout_s = 0;      ///< of a case; 0: no limit
  bool require_quiet = false;
  double wait_quiet_s = 0;  ///< 0: do not wait
  bool allow_debug = false;
  bool verbose = false;
  bool anonymous = false;
  bool bands = false;
  std::string benchmark_filter;
};

/// Adds them to the command, which fills them in before its callback.
std::shared_ptr<RunOptions> add_run_options(CLI::App& command);

}  // namespace occbench::commands
