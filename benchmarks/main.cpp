// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "benchmarks/commands/calc.hpp"
#include "benchmarks/commands/commands.hpp"
#include "harness/check.hpp"
#include "harness/device.hpp"
#include "harness/environment.hpp"
#include "harness/launch.hpp"

namespace {

using namespace occbench;

/// calc's device: a name of the catalogue, or one of this machine's.
commands::CalcDevice entry_of(const Device& d) {
  return {.facts = {.name = d.name,
                    .sm = d.sm,
                    .l2_bytes = d.l2_bytes,
                    .memory_bytes = d.memory_bytes,
                    .sm_clock_hz = d.sm_clock_max_hz,
                    .dram_bytes_per_s = d.dram_bytes_per_s,
                    .fp32_lanes_per_sm = d.fp32_lanes_per_sm,
                    .fp64_lanes_per_sm = d.fp64_lanes_per_sm},
          .active_clusters = [d](const theory::Footprint& footprint, int cluster_size) {
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
  std::cerr << "occbench: " << line << '\n';
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  std::string command_line;
  for (int i = 0; i < argc; ++i)
    command_line += (i == 0 ? "" : " ") + std::string(i == 0 ? "occbench" : argv[i]);
  int exit_code = 0;

  CLI::App app{"What occupancy does to a GPU kernel, measured.", "occbench"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "occbench " + build_version() + " (" + build_commit() + ")");
  commands::add_devices(app);
  commands::add_calc(app, resolve_device);
  commands::add_list(app);
  commands::add_run(app, command_line, exit_code);
  commands::add_calibrate(app, exit_code);

  try {
    app.parse(argc, argv);
    std::cout.flush();
    if (!std::cout) throw UserError(Exit::file, "standard output cannot be written");
    return exit_code;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    if (app.get_subcommands().empty()) {  // CLI11 would say that one is missing, and not which word is none
      const std::string word = argc > 1 ? argv[1] : "";
      return fail(Exit::usage,
                  (word.empty() ? "which command?" : "no command '" + word + "';") +
                      " there are devices, calc, list, run and calibrate; see `occbench --help`");
    }
    return fail(Exit::usage, std::string(e.what()) + "; see `occbench --help`");
  } catch (const UserError& e) {
    return fail(e.code(), e.what());
  } catch (const CudaError& e) {
    return fail(Exit::no_device, e.what());
  } catch (const std::invalid_argument& e) {
    return fail(Exit::usage, e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(Exit::file, e.what());
  } catch (const std::exception& e) {
    return fail(Exit::some_case_failed, std::string("unexpected: ") + e.what());
  }
}
