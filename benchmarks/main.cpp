// SPDX-License-Identifier: Apache-2.0
// The suite: all families and experiments of this tree, and the calibration of its model.
#include <occbench/program.hpp>

#include "benchmarks/commands/calibrate.hpp"

int main(int argc, char** argv) {
  return occbench::run_program(argc, argv, occbench::commands::add_calibrate);
}
