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
struct OptionValue {
  enum class Kind { nothing, words, file, folder } kind = Kind::nothing;
  std::vector<std::string> words;  ///< empty where only the user can know
  bool is_list = false;            ///< several, separated by commas
};

struct CompletedOption {
  std::vector<std::string> names;  ///< "-h", "--help"
  std::string help;                ///< one line
  OptionValue value;
};

struct CompletedCommand {
  std::string name;
  std::string help;
  bool is_external = false;  ///< a Python tool: it takes files, and its options are not known here
  std::vector<CompletedOption> options;
  std::vector<std::string> words;  ///< values of its positional argument
};

/// The program itself, without a name, and each of its commands. The type of an option gives its values:
/// PRESET:{quick,standard}, FILE, FOLDER, EXPERIMENT, DEVICE (models) or NAME (of the catalogue).
std::vector<CompletedCommand> completed_commands(const CLI::App& app);

void write_bash(std::ostream& out, std::span<const CompletedCommand> commands);
void write_zsh(std::ostream& out, std::span<const CompletedCommand> commands);
void write_fish(std::ostream& out, std::span<const CompletedCommand> commands);

}  // namespace occbench::commands
