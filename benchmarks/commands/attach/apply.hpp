// SPDX-License-Identifier: Apache-2.0
// `occbench attach --apply`: alternates whole runs with fewer warps for some kernels and plain runs, and
// compares their wall times.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/commands/attach/options.hpp"

namespace occbench::commands {

/// `program` may be empty where a folder names it. Returns the exit code of the run that failed, or 0; 125
/// where stdout was another with the levels alone.
[[nodiscard]] int apply_levels(const AttachOptions& options, std::vector<std::string> program);

}  // namespace occbench::commands
