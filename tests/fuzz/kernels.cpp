// SPDX-License-Identifier: Apache-2.0
// `calc FILE` of what a compiler or a profiler is said to have written: refused in one line, or a row each.
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "benchmarks/commands/calc/calc.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("kernels", 0);
  static const std::string source = " /proc/self/fd/" + std::to_string(file);
  static constexpr const char* calls[] = {"--device h200 --block-size 256 --format csv",
                                          "--device h200 --block-size 128 --grid 1000 --format csv",
                                          "--device a100 --block-size all --format csv",
                                          "--device cc8.6 --block-size 96 --kernel e --format json",
                                          "--device rtx4090 --block-size 256 --format table"};
  const std::size_t call = size % std::size(calls);
  fuzz::expect(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
               "a file in memory can be written");
  std::stringstream out;
  std::streambuf* const terminal = std::cout.rdbuf(out.rdbuf());
  try {
    CLI::App app;
    int exit_code = 0;
    commands::add_calc_options(app, exit_code);
    app.parse(calls[call] + source);
    std::cout.rdbuf(terminal);
    if (call == 3) fuzz::expect(nlohmann::json::accept(out.str()), "JSON is valid");
    if (call >= 3) return 0;
    std::size_t columns = 0;
    for (std::size_t records = 0; const auto record = csv::read(out); ++records) {
      fuzz::expect(record->complete, "a row is whole");
      if (records == 0) columns = record->fields.size();
      fuzz::expect(record->fields.size() == columns, "a row has a cell for each column");
    }
  } catch (const UserError& refused) {
    std::cout.rdbuf(terminal);
    // Exit::usage: no kernel of this name.
    fuzz::expect(
        refused.code() == Exit::file || refused.code() == Exit::tool_missing || refused.code() == Exit::usage,
        "a file is refused");
  }
  return 0;
}
