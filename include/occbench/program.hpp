// SPDX-License-Identifier: Apache-2.0
// The program around kernels and experiments, for who writes main() themselves.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace occbench {

/// Adds words of one program; `exit_code` receives what they have to say to scripts.
using AddCommand = std::function<void(CLI::App& app, int& exit_code)>;

/// What main() returns. Says whatever goes wrong in one line on stderr.
int run_program(int argc, char** argv, const AddCommand& own_commands = nullptr);

}  // namespace occbench
