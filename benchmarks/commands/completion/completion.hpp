// SPDX-License-Identifier: Apache-2.0
// `occbench completion SHELL`: what a shell offers at TAB, from the program's own commands and options.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace occbench::commands {

/// What may follow an option.
struct Value {
  enum class Kind { nothing, words, file, folder } kind = Kind::nothing;
  std::vector<std::string> words;  ///< empty where only the user can know
  bool list = false;               ///< several, separated by commas
};

struct CompletedOption {
  std::vector<std::string> names;  ///< "-h", "--help"
  std::string help;                ///< one line
  Value value;
};

struct CompletedCommand {
  std::string name;
  std::string help;
  bool external = false;                 ///< reads files, and its options are its own
  std::vector<CompletedOption> options;  ///< the first command of all, without a name, is the program itself
  std::vector<std::string> words;        ///< what it takes that is no option
};

/// The program and each of its commands. An option's values are those of its type: PRESET:{quick,standard},
/// FILE, FOLDER, and the names behind EXPERIMENT, DEVICE (models) and NAME (the catalogue).
std::vector<CompletedCommand> completed_commands(const CLI::App& app);

void write_bash(std::ostream& out, std::span<const CompletedCommand> commands);
void write_zsh(std::ostream& out, std::span<const CompletedCommand> commands);
void write_fish(std::ostream& out, std::span<const CompletedCommand> commands);

/// Adds the command, which prints the script on stdout.
void add_completion(CLI::App& app);

}  // namespace occbench::commands
