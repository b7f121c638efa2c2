// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <occbench/program.hpp>
#include <stdexcept>

#include "benchmarks/commands/commands.hpp"
#include "benchmarks/commands/external.hpp"
#include "benchmarks/commands/help.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "benchmarks/user_kernels/user_data.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/record/environment.hpp"

namespace occbench {

namespace {

/// One line on stderr, whatever is in it.
int fail(Exit code, std::string line) {
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  commands::print_wrapped(std::cerr, "occbench: " + printable(line));
  return static_cast<int>(code);
}

/// The headings of `--help`, in order.
std::vector<std::string> groups_of(std::span<const Command* const> commands) {
  std::vector<std::string> groups = {"Query",       "Measure", "Read results", "Nsight Compute",
                                     "Your kernel", "Model",   "Shell"};
  for (const Command* command : commands)
    if (std::ranges::find(groups, command->group) == groups.end()) groups.emplace_back(command->group);
  return groups;
}

void add_commands(CLI::App& app, std::span<const Command* const> commands, Invocation& invocation) {
  for (const std::string& group : groups_of(commands)) {
    for (const commands::Tool& tool : commands::python_tools())
      if (tool.group == group) app.add_subcommand(tool.name, tool.description)->group(group);
    for (const Command* command : commands) {
      if (command->group != group) continue;
      CLI::App* added = app.add_subcommand(command->name, command->description);
      added->group(group)->footer(command->footer);
      command->define(*added, invocation);
    }
  }
}

void define_program(CLI::App& app, std::span<const Command* const> commands, Invocation& invocation) {
  app.formatter(commands::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", "occbench " + build_version() + " (" + build_commit() +
                                        ")\nCUDA toolkit " + cuda_toolkit() + ", kernels for " +
                                        cuda_architectures());
  app.get_option("--version")->description("Version, commit, toolkit and GPU architectures");
  app.get_option("--help")->description("This text");
  add_commands(app, commands, invocation);
  // After the commands, which would each have it as well.
  app.set_help_all_flag("--help-all", "This text, and that of every built-in command");
  app.footer(
      "Example\n"
      "  occbench calc --device h200 --block-size 256 --registers 33\n"
      "  occbench run --preset quick && occbench report\n"
      "\n"
      "`occbench COMMAND --help` says more. Any other WORD runs `occbench-WORD`.");
}

/// env.json, which holds the command line, is UTF-8.
bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// Throws UserError(Exit::usage) on an argument that no file of results could hold, or that could steer a
/// terminal.
void check_arguments(const std::vector<std::string>& arguments) {
  const auto refuse = [](std::size_t i, const std::string& why) {
    throw UserError(Exit::usage, "argument " + std::to_string(i + 1) + why);
  };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!is_utf8(arguments[i])) refuse(i, " is not UTF-8");
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (has_control_characters(arguments[i]))
      refuse(i, ", '" + arguments[i] + "', contains a control character");
}

/// Makes a write past a quota on file sizes (`ulimit -f`) fail instead of ending the process. By a handler,
/// so that programs that this one executes have the default.
void survive_file_quota() {
  struct sigaction action {};
  if (sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &action, nullptr);
}

/// `help` and `help NAME` are `--help` and `NAME --help`.
void replace_help(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "help") return;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
}

/// Executes `occbench-NAME` and does not return, if the first argument is the name of no command.
void execute_if_external(const std::vector<std::string>& arguments,
                         std::span<const Command* const> commands) {
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  std::vector<std::string> built_in;
  for (const Command* command : commands) built_in.emplace_back(command->name);
  if (std::ranges::find(built_in, arguments[0]) == built_in.end())
    commands::execute_external(arguments[0], {arguments.begin() + 1, arguments.end()}, built_in);
}

/// Moves what follows the first `--` out of the arguments.
std::vector<std::string> take_program(std::vector<std::string>& arguments) {
  const auto separator = std::ranges::find(arguments, "--");
  if (separator == arguments.end()) return {};
  std::vector<std::string> program(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return program;
}

/// Runs the command. Throws its errors, and CLI::ParseError.
void parse(CLI::App& app, std::vector<std::string> arguments, std::span<const Command* const> commands) {
  reserve_standard_descriptors();
  check_arguments(arguments);
  if (!registration_error().empty()) throw UserError(Exit::usage, registration_error());
  replace_help(arguments);
  execute_if_external(arguments, commands);
  if (arguments.empty()) throw UserError(Exit::usage, "no command; `occbench --help` lists them");
  std::ranges::reverse(arguments);  // CLI11 takes the last first
  app.parse(arguments);
  std::cout.flush();
  if (!std::cout) throw UserError(Exit::file, "standard output cannot be written");
}

/// Prints why parsing ended, which for `--help` and `--version` is no error. Returns the exit code.
int finish_parsing(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) {
    app.exit(e);
    std::cout.flush();
    return std::cout ? 0 : fail(Exit::file, "standard output cannot be written");
  }
  const auto command = app.get_subcommands();
  const std::string name = command.empty() ? "" : ' ' + command.front()->get_name();
  return fail(Exit::usage, std::string(e.what()) + "; see `occbench" + name + " --help`");
}

/// Returns 0 or the exit code of an error, which it has printed.
int run(std::span<const Command* const> commands, const std::vector<std::string>& arguments,
        Invocation& invocation) {
  CLI::App app{"What occupancy does to a GPU kernel, measured", "occbench"};
  define_program(app, commands, invocation);
  try {
    parse(app, arguments, commands);
    return 0;
  } catch (const CLI::ParseError& e) {
    return finish_parsing(app, e);
  } catch (const UserError& e) {
    return fail(e.code(), e.what());
  } catch (const CudaError& e) {
    return fail(Exit::no_device, e.what());
  } catch (const std::invalid_argument& e) {
    return fail(Exit::usage, e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(Exit::file, e.what());
  } catch (const std::bad_alloc&) {
    return fail(Exit::file, "out of memory");
  } catch (const std::length_error&) {
    return fail(Exit::file, "out of memory");
  } catch (const std::exception& e) {
    return fail(Exit::some_case_failed, std::string("unexpected: ") + e.what());
  }
}

}  // namespace

int run_program(int argc, char** argv, std::span<const Command* const> own_commands) {
  survive_file_quota();
  const auto common = commands::common_commands();
  std::vector<const Command*> commands(common.begin(), common.end());
  commands.insert(commands.end(), own_commands.begin(), own_commands.end());

  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool runs_program = std::ranges::any_of(commands, [&](const Command* command) {
    return command->runs_program && !arguments.empty() && arguments[0] == command->name;
  });
  Invocation invocation{.command_line = "occbench"};
  if (runs_program) invocation.program = take_program(arguments);
  for (const std::string& argument : arguments) invocation.command_line += ' ' + argument;

  const int error = run(commands, arguments, invocation);
  if (error == 0) return invocation.exit_code;
  return runs_program ? own_failure : error;
}

}  // namespace occbench
