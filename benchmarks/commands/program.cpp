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

#include "benchmarks/commands/calc/calc.hpp"
#include "benchmarks/commands/commands.hpp"
#include "benchmarks/commands/completion/completion.hpp"
#include "benchmarks/commands/external.hpp"
#include "benchmarks/commands/help.hpp"
#include "benchmarks/report/table.hpp"
#include "benchmarks/report/words.hpp"
#include "benchmarks/user_kernels/user_kernels.hpp"
#include "harness/device/device.hpp"
#include "harness/device/launch.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/record/environment.hpp"

namespace occbench {

namespace {

/// calc's device: a name of the catalogue, or one of this machine's.
commands::CalcDevice entry_of(const Device& d) {
  return {.facts = d, .active_clusters = [d](const theory::Footprint& footprint, int cluster_size) {
            return active_clusters(d, footprint, cluster_size);
          }};
}
commands::CalcDevice resolve_device(const std::string& word) {
  if (!word.empty()) {
    try {
      return commands::resolve_offline(word);
    } catch (const std::exception&) {
      const auto devices = enumerate_devices();
      if (devices.empty()) throw;
      return entry_of(*choose_device(devices, word).device);
    }
  }
  const auto devices = enumerate_devices();
  if (devices.empty()) return commands::resolve_offline(word);
  return entry_of(*choose_device(devices, "").device);
}

/// One line on stderr, whatever is in it.
int fail(Exit code, std::string line) {
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  commands::print_wrapped(std::cerr, "occbench: " + printable(line));
  return static_cast<int>(code);
}

/// The program's words and options. `exit_code` receives what a command has to say to scripts.
void add_commands(CLI::App& app, const std::string& command_line, int& exit_code, const AddCommand& own) {
  app.formatter(commands::help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", "occbench " + build_version() + " (" + build_commit() +
                                        ")\nCUDA toolkit " + cuda_toolkit() + ", kernels for " +
                                        cuda_architectures());
  app.get_option("--version")->description("Version, commit, toolkit and GPU architectures");
  app.get_option("--help")->description("This text");
  commands::add_calc(app, exit_code, resolve_device);
  commands::add_devices(app);
  commands::add_list(app);
  commands::add_run(app, command_line, exit_code);
  for (const commands::Tool& tool : commands::python_tools())
    app.add_subcommand(tool.word, tool.does)->group(tool.group);
  if (own) own(app, exit_code);
  commands::add_completion(app);
  // After the commands, which would each have it as well.
  app.set_help_all_flag("--help-all", "This text, and that of every built-in command");
  app.footer(
      "Example\n"
      "  occbench calc --device h200 --block-size 256 --registers 33\n"
      "  occbench run --preset quick && occbench report\n"
      "\n"
      "`occbench COMMAND --help` says more. Any other WORD runs `occbench-WORD`.");
}

/// As JSON asks, which env.json is written in.
bool is_utf8(const std::string& word) {
  try {
    static_cast<void>(nlohmann::json(word).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// Throws UserError(Exit::usage) on a word that no file of results could hold, or that could steer a
/// terminal.
void check_words(const std::vector<std::string>& words) {
  for (std::size_t n = 0; n < words.size(); ++n)
    if (!is_utf8(words[n]))
      throw UserError(Exit::usage, "word " + std::to_string(n + 1) + " of the call is not UTF-8");
  for (std::size_t n = 0; n < words.size(); ++n)
    if (steers(words[n]))
      throw UserError(Exit::usage, "word " + std::to_string(n + 1) + " of the call, '" + words[n] +
                                       "', holds a control character");
}

/// A write past a quota on file sizes (`ulimit -f`) then fails, which is said, and ends no program. By a
/// handler: what this program executes begins with the default again, as it would without us.
void survive_file_quota() {
  struct sigaction action {};
  if (sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &action, nullptr);
}

/// `help` and `help WORD` as the options that they are.
void read_help(std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

/// Hands a word that is none of the program's own to its program; returns where there is none such.
void run_if_external(const std::vector<std::string>& words, const CLI::App& app) {
  if (words.empty() || words[0].starts_with('-')) return;
  std::vector<std::string> own;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    own.push_back(command->get_name());
  for (const commands::Tool& tool : commands::python_tools()) std::erase(own, tool.word);
  if (std::ranges::find(own, words[0]) == own.end())
    commands::run_external(words[0], {words.begin() + 1, words.end()}, own);
}

}  // namespace

int run_program(int argc, char** argv, const AddCommand& own_commands) {
  std::vector<std::string> words(argv + 1, argv + argc);
  survive_file_quota();
  try {
    reserve_standard_descriptors();
    check_words(words);
    if (!registration_error().empty()) throw UserError(Exit::usage, registration_error());
  } catch (const UserError& e) {
    return fail(e.code(), e.what());
  }
  std::string command_line = "occbench";
  for (const std::string& word : words) command_line += ' ' + word;
  int exit_code = 0;

  CLI::App app{"What occupancy does to a GPU kernel, measured", "occbench"};
  add_commands(app, command_line, exit_code, own_commands);

  try {
    read_help(words);
    run_if_external(words, app);
    if (words.empty()) throw UserError(Exit::usage, "which command? `occbench --help` names them all");
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them last first
    std::cout.flush();
    if (!std::cout) throw UserError(Exit::file, "standard output cannot be written");
    return exit_code;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help, --version
      app.exit(e);
      std::cout.flush();
      return std::cout ? 0 : fail(Exit::file, "standard output cannot be written");
    }
    const auto command = app.get_subcommands();
    const std::string word = command.empty() ? "" : ' ' + command.front()->get_name();
    return fail(Exit::usage, std::string(e.what()) + "; see `occbench" + word + " --help`");
  } catch (const UserError& e) {
    return fail(e.code(), e.what());
  } catch (const CudaError& e) {
    return fail(Exit::no_device, e.what());
  } catch (const std::invalid_argument& e) {
    return fail(Exit::usage, e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(Exit::file, e.what());
  } catch (const std::bad_alloc&) {
    return fail(Exit::file, "there is not enough memory for what was asked");
  } catch (const std::length_error&) {
    return fail(Exit::file, "there is not enough memory for what was asked");
  } catch (const std::exception& e) {
    return fail(Exit::some_case_failed, std::string("unexpected: ") + e.what());
  }
}

}  // namespace occbench
