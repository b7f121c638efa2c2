// SPDX-License-Identifier: Apache-2.0
// `calc --batch` of a table that somebody sent: refused whole by its header, or a row of answers for each
// line of it.
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "benchmarks/commands/calc/calc.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/lines.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;

namespace {

/// What the command wrote. Throws as it does.
std::string answers(const std::string& words) {
  std::ostringstream out;
  std::streambuf* const terminal = std::cout.rdbuf(out.rdbuf());
  try {
    CLI::App app;
    int exit_code = 0;
    commands::add_calc_options(app, exit_code);
    app.parse(words);
    fuzz::expect(exit_code == 0, "a batch answers each row for itself");
  } catch (...) {
    std::cout.rdbuf(terminal);
    throw;
  }
  std::cout.rdbuf(terminal);
  return out.str();
}

/// Lines behind the first that hold something.
std::size_t rows_of(std::string_view text) {
  std::size_t rows = 0;
  for (bool is_header = true; !text.empty(); is_header = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    rows += !is_header && !line.empty() && line != "\r";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("batch", 0);
  // Without --predict: a prediction takes a second here.
  static const std::string words = "--device h200 --batch /proc/self/fd/" + std::to_string(file);
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::expect(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
               "a file in memory can be written");
  try {
    std::istringstream table(answers(words));
    std::size_t records = 0;
    std::size_t columns = 0;
    for (; const auto record = csv::read(table); ++records) {
      fuzz::expect(record->complete, "a row is whole");
      if (records == 0) columns = record->fields.size();
      fuzz::expect(record->fields.size() == columns, "a row has a cell for each column");
      for (const std::string& cell : record->fields)
        fuzz::expect(csv::no_formula(cell) == cell, "no cell is a formula");
    }
    fuzz::expect(records == 1 + rows_of(text), "a line of the table has one row of answers");
  } catch (const UserError& refused) {
    fuzz::expect(refused.code() == Exit::usage || refused.code() == Exit::file, "a table is refused");
  }
  return 0;
}
