// SPDX-License-Identifier: Apache-2.0
// `occbench findings FOLDER` prints findings.json, for the Python tools, which ask it of older folders.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <string>

#include "benchmarks/report/findings/folder.hpp"

namespace occbench::commands {

namespace {

void define_findings(CLI::App& command, Invocation&) {
  const auto folder = std::make_shared<std::string>();
  command.add_option("folder", *folder, "A run's folder, with cases.csv and env.json")->required();
  command.callback([folder] {
    const nlohmann::json file = findings::read_findings(*folder).file;
    std::cout << file.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  });
}

}  // namespace

extern const Command findings_command{
    .name = "findings",
    .group = "",  // for tools
    .description = "What a run found, as JSON; `occbench explain` shows it",
    .footer = "Example\n  occbench findings results/my-run",
    .define = define_findings,
};

}  // namespace occbench::commands
