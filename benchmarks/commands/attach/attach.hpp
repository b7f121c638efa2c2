// SPDX-License-Identifier: Apache-2.0
// `occbench attach`: what occupancy is worth in a program as it is.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace occbench::commands {

/// What stands behind the first `--` of `occbench attach [OPTIONS] -- COMMAND...`: the program's own words,
/// which may be of any kind. Empty for every other call. `argc` becomes the number of words before it.
[[nodiscard]] std::vector<std::string> take_program(int& argc, char** argv);

/// Own failures leave with 125, like those of env(1) and timeout(1): every other code is the program's.
constexpr int attach_failed = 125;

/// Adds the subcommand; `exit_code` receives the program's own code, or 128 and the signal that ended it, 126
/// where it cannot be run and 127 where there is none such. It throws UserError.
void add_attach(CLI::App& app, const std::vector<std::string>& program, int& exit_code);

}  // namespace occbench::commands
