// SPDX-License-Identifier: Apache-2.0
// The program around kernels and experiments, for a custom main().
#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace occbench {

/// One call of the program, as its command sees it.
struct Invocation {
  std::string command_line;          ///< as typed, for env.json
  std::vector<std::string> program;  ///< the arguments after `--`, of a command with `runs_program`
  int exit_code = 0;                 ///< set by the command
};

/// The exit code for failures of occbench itself where every other code is the program's, as of env(1) and
/// timeout(1).
constexpr int own_failure = 125;

/// A subcommand: `occbench NAME`.
struct Command {
  const char* name;
  const char* group;        ///< the heading in `--help` that lists it
  const char* description;  ///< one line
  const char* footer = "";  ///< of its own `--help`: examples, and notes after an empty line
  /// Adds options and a callback. `command` and `invocation` outlive the callback, which throws UserError.
  void (*define)(CLI::App& command, Invocation& invocation);
  /// It takes a program after `--` and returns that program's exit code, or `own_failure`.
  bool runs_program = false;
};

/// What main() returns: the exit code of the command, one of those of every program or of `own_commands`.
/// Prints errors as one line on stderr.
int run_program(int argc, char** argv, std::span<const Command* const> own_commands = {});

}  // namespace occbench
