// SPDX-License-Identifier: Apache-2.0
// main() of what occbench_add_benchmark() makes.
#include <occbench/program.hpp>

int main(int argc, char** argv) { return occbench::run_program(argc, argv); }
