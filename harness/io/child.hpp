// SPDX-License-Identifier: Apache-2.0
// Runs programs of the CUDA toolkit and captures their output.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace occbench {

/// The path of a program on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

struct ChildOutput {
  int exit_code = 0;  ///< 128 plus the signal number if a signal ended it
  std::string out;    ///< stdout and stderr
};

/// Runs a program without input and waits for it. Throws UserError(Exit::tool_missing) if it cannot be
/// started.
[[nodiscard]] ChildOutput run_child(const std::vector<std::string>& words);

}  // namespace occbench
