// SPDX-License-Identifier: Apache-2.0
// The suite: all families and experiments of this tree, and the commands that need its libraries.
#include <occbench/program.hpp>

#include "benchmarks/commands/commands.hpp"

int main(int argc, char** argv) {
  return occbench::run_program(argc, argv, occbench::commands::suite_commands());
}
