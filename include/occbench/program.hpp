// SPDX-License-Identifier: Apache-2.0
// The program around kernels and experiments, for a custom main().
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace occbench {

/// Adds subcommands; they store their exit code in `exit_code`.
using AddCommand = std::function<void(CLI::App& app, int& exit_code)>;

/// Runs the program and returns its exit code. Errors are one line on stderr.
int run_program(int argc, char** argv, const AddCommand& own_commands = nullptr);

}  // namespace occbench
