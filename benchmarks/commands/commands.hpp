// SPDX-License-Identifier: Apache-2.0
// The subcommands but `calc` and `calibrate`, which have headers of their own. Each adds itself to the
// program; its callback throws UserError.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace occbench::commands {

void add_devices(CLI::App& app);
void add_list(CLI::App& app);
/// `command_line` goes into env.json. `exit_code` receives what the run has to say to scripts.
void add_run(CLI::App& app, const std::string& command_line, int& exit_code);

}  // namespace occbench::commands
