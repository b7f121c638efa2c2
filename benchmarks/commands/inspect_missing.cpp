// SPDX-License-Identifier: Apache-2.0
// In place of inspect.cpp in a build without the libraries that it reads binaries with.
#include "benchmarks/commands/inspect.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

void add_inspect(CLI::App& app, int&, DeviceResolver) {
  app.add_subcommand("inspect", "Registers, spills and occupancy of every kernel in a binary")
      ->group("Your kernel")
      ->allow_extras()
      ->callback([] {
        throw UserError(
            Exit::tool_missing,
            "inspect was left out of this build; it needs libelf-dev, liblz4-dev and libzstd-dev");
      });
}

}  // namespace occbench::commands
