// SPDX-License-Identifier: Apache-2.0
// The suite: all families and experiments of this tree, the calibration of its model, and what reads or runs
// other people's kernels.
#include <cstring>
#include <occbench/program.hpp>

#include "benchmarks/commands/attach/attach.hpp"
#include "benchmarks/commands/calibrate/calibrate.hpp"
#include "benchmarks/commands/inspect/inspect.hpp"
#include "benchmarks/commands/whatif/whatif.hpp"

int main(int argc, char** argv) {
  const bool is_attach = argc > 1 && std::strcmp(argv[1], "attach") == 0;
  const std::vector<std::string> program = occbench::commands::take_program(argc, argv);
  int programs_code = -1;
  const int code = occbench::run_program(argc, argv, [&](CLI::App& app, int& exit_code) {
    occbench::commands::add_calibrate(app, exit_code);
    occbench::commands::add_inspect(app, exit_code);
    occbench::commands::add_whatif(app, exit_code);
    occbench::commands::add_attach(app, program, programs_code);
  });
  if (!is_attach || (code == 0 && programs_code < 0)) return code;  // --help
  return code == 0 ? programs_code : occbench::commands::attach_failed;
}
