// SPDX-License-Identifier: Apache-2.0
// A program that runs with the library of `occbench attach` in it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace occbench::commands {

/// Runs it to its end with these variables beside its own environment, and the library behind what is
/// preloaded already. Signals that would end this process reach it; Ctrl-C is the program's to handle.
/// Returns its exit code, 128 and the signal's number, 126 or 127; `why` then says so in one line.
[[nodiscard]] int run_attached(const std::vector<std::string>& program, const std::string& library,
                               const std::vector<std::pair<std::string, std::string>>& variables,
                               std::string& why);

/// Throws UserError where it is a file that runs with another user's rights: nothing is preloaded into that.
void check_program(const std::string& name);

/// The preloaded library's path. Throws UserError(Exit::tool_missing) where it is not beside this program.
[[nodiscard]] std::string attach_library();

}  // namespace occbench::commands
