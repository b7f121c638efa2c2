// SPDX-License-Identifier: Apache-2.0
// The options of `occbench attach`, and how they are passed to the library.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace occbench::commands {

struct AttachOptions {
  bool observe = false, all = false, sms = false, by_range = false, profiler_api = false,
       check_output = false, counters = false;
  std::string output, kernel, levels = "3/4,1/2,1/4", budget = "20%", precision = "0.5%", duration = "0",
                              children = "all", limit = "32M", timing = "events";
  std::vector<std::string> apply;
  std::string from, pairs = "20", registers;
  std::string skip = "3", after = "0", seed = "1";
};

/// "0.05", "5%", "3/4". This and the next two throw std::invalid_argument, naming the option.
[[nodiscard]] double share_of(const std::string& text, const std::string& option);
[[nodiscard]] std::vector<double> levels_of(const std::string& text);
void check_pattern(const std::string& pattern, const std::string& option);

/// The options for the library, as harness/attach/preload/options.cpp reads them. Throws
/// std::invalid_argument.
[[nodiscard]] std::string for_library(const AttachOptions& options, const std::vector<double>& levels);

/// "results/attach/train.py": by the script, where there is one.
[[nodiscard]] std::filesystem::path default_folder(const std::vector<std::string>& program);

}  // namespace occbench::commands
