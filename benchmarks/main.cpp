// SPDX-License-Identifier: Apache-2.0
// The suite: all families and experiments of this tree, the calibration of its model, and what reads other
// people's kernels.
#include <occbench/program.hpp>

#include "benchmarks/commands/calibrate.hpp"
#include "benchmarks/commands/inspect.hpp"

int main(int argc, char** argv) {
  return occbench::run_program(argc, argv, [](CLI::App& app, int& exit_code) {
    occbench::commands::add_calibrate(app, exit_code);
    occbench::commands::add_inspect(app, exit_code);
  });
}
