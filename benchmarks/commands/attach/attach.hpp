// SPDX-License-Identifier: Apache-2.0
// `occbench attach`: measures how much occupancy matters to each kernel of an unmodified program.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace occbench::commands {

/// The program after the first `--` of `occbench attach [OPTIONS] -- COMMAND...`, with its arguments. Empty
/// for every other call. `argc` becomes the number of arguments before it.
[[nodiscard]] std::vector<std::string> take_program(int& argc, char** argv);

/// The exit code of occbench's own failures, as of env(1) and timeout(1). Every other code is the program's.
constexpr int attach_failed = 125;

/// Adds the subcommand; `exit_code` receives the program's own code, or 128 and the signal that ended it, 126
/// where it cannot be run and 127 where there is none such. It throws UserError.
void add_attach(CLI::App& app, const std::vector<std::string>& program, int& exit_code);

}  // namespace occbench::commands
