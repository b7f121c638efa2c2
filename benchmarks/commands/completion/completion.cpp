// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/completion/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <sstream>

#include "benchmarks/commands/external.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/device/parameters.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {

namespace {

std::vector<std::string> names_behind(const std::string& type) {
  std::vector<std::string> names;
  if (type == "EXPERIMENT")
    for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  if (type == "DEVICE")
    for (const std::string& device : parameter_devices()) names.push_back("model:" + device);
  if (type == "NAME") names = theory::device_names();
  return names;
}

/// "PRESET:{quick,standard,full}" names its words itself.
OptionValue value_of(const CLI::Option& option) {
  OptionValue value;
  if (option.get_items_expected_max() == 0) return value;  // a flag
  const std::string type = option.get_type_name();
  const std::string first = type.substr(0, type.find(':'));
  value.is_list = option.get_delimiter() != '\0';
  value.kind = first == "FILE"     ? OptionValue::Kind::file
               : first == "FOLDER" ? OptionValue::Kind::folder
                                   : OptionValue::Kind::words;
  if (const auto set = type.find(":{"); set != std::string::npos) {
    std::istringstream words(type.substr(set + 2, type.find('}', set) - set - 2));
    for (std::string word; std::getline(words, word, ',');) value.words.push_back(word);
  } else {
    value.words = names_behind(first);
  }
  return value;
}

CompletedCommand command_of(const CLI::App& app) {
  CompletedCommand command{.name = app.get_name(), .help = app.get_description()};
  command.is_external =
      std::ranges::any_of(python_tools(), [&](const Tool& tool) { return tool.name == command.name; });
  if (command.is_external) return command;
  for (const CLI::Option* option : app.get_options()) {
    const OptionValue value = value_of(*option);
    if (option->get_positional()) {
      command.words = value.words;
      continue;
    }
    CompletedOption completed{.value = value};
    const std::string help = option->get_description();
    completed.help = clip(help.substr(0, help.find(';')), 70);
    for (const std::string& name : option->get_snames()) completed.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) completed.names.push_back("--" + name);
    command.options.push_back(completed);
  }
  return command;
}

void define_completion(CLI::App& command, Invocation&) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.callback([&program = *command.get_parent(), shell] {
    const auto commands = completed_commands(program);
    (*shell == "bash" ? write_bash : *shell == "zsh" ? write_zsh : write_fish)(std::cout, commands);
  });
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& app) {
  std::vector<CompletedCommand> commands{command_of(app)};
  commands[0].name.clear();
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); })) {
    commands.push_back(command_of(*command));
    commands[0].words.push_back(command->get_name());
  }
  CompletedCommand help{.name = "help", .help = "What a command does", .words = commands[0].words};
  commands[0].words.push_back(help.name);
  commands.push_back(std::move(help));
  return commands;
}

extern const Command completion_command{
    .name = "completion",
    .group = "Shell",
    .description = "Prints the completion script of bash, zsh or fish",
    .footer =
        "Example\n"
        "  occbench completion bash > ~/.occbench.bash\n"
        "  occbench completion zsh > ~/.zfunc/_occbench\n"
        "  occbench completion fish > ~/.config/fish/completions/occbench.fish\n"
        "\n"
        "For bash, source the file in ~/.bashrc. For zsh, the folder is one of $fpath.",
    .define = define_completion,
};

}  // namespace occbench::commands
