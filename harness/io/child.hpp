// SPDX-License-Identifier: Apache-2.0
// Programs of the CUDA toolkit that are asked for what only they can read.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace occbench {

/// The path of a program on PATH, or where toolkits put it ($CUDA_HOME/bin, /usr/local/cuda/bin).
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

struct ChildOutput {
  int exit_code = 0;  ///< 128 and its number where a signal ended it
  std::string out;    ///< both streams
};

/// Runs a program with no input to its end. Throws UserError(Exit::tool_missing) where it cannot be started.
[[nodiscard]] ChildOutput run_child(const std::vector<std::string>& words);

}  // namespace occbench
