// SPDX-License-Identifier: Apache-2.0
// `occbench findings FOLDER` prints findings.json, for the Python tools, which ask it of older folders.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <string>

#include "benchmarks/commands/attach/folder.hpp"
#include "benchmarks/report/findings/folder.hpp"

namespace occbench::commands {

namespace {

void define_findings(CLI::App& command, Invocation&) {
  const auto folder = std::make_shared<std::string>();
  command.add_option("folder", *folder, "A folder of results: a run's, or attach's")->required();
  command.callback([folder] {
    const nlohmann::json file =
        is_attached(*folder) ? attached_findings(*folder) : findings::read_findings(*folder).file;
    std::cout << file.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  });
}

}  // namespace

extern const Command findings_command{
    .name = "findings",
    .group = "",  // for tools
    .description = "What a run or attach found, as JSON; `occbench explain` shows it",
    .footer = "Example\n  occbench findings results/my-run",
    .define = define_findings,
};

}  // namespace occbench::commands
