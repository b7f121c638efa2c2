// SPDX-License-Identifier: Apache-2.0
// `occbench calibrate`, for the program that has the kernels of it.
#pragma once

namespace CLI {
class App;
}

namespace occbench::commands {

/// `exit_code` receives what the calibration has to say to scripts.
void add_calibrate(CLI::App& app, int& exit_code);

}  // namespace occbench::commands
