// SPDX-License-Identifier: Apache-2.0
// `occbench inspect`: every kernel of a binary. Needs no GPU.
#pragma once

#include "benchmarks/commands/calc/calc.hpp"

namespace CLI {
class App;
}

namespace occbench::commands {

/// Adds the subcommand; `exit_code` receives what it has to say to scripts: Exit::some_case_failed where
/// `--fail-on` holds of a kernel, Exit::file where a part could not be read. It throws UserError as well.
void add_inspect(CLI::App& app, int& exit_code, DeviceResolver resolve = resolve_offline);

}  // namespace occbench::commands
