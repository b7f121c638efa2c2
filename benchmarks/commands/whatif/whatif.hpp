// SPDX-License-Identifier: Apache-2.0
// `occbench whatif`: what a change would give a kernel that Nsight Compute measured. Needs no GPU.
#pragma once

namespace CLI {
class App;
}

namespace occbench::commands {

/// Adds the subcommand; `exit_code` becomes Exit::some_case_failed where a change that was asked for is
/// refused. It throws UserError as well: with that code where the whole kernel is.
void add_whatif(CLI::App& app, int& exit_code);

}  // namespace occbench::commands
