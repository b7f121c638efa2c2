// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/outputs.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "benchmarks/report/table.hpp"
#include "harness/io/files.hpp"
#include "harness/io/printable.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::file_size(one, error) != fs::file_size(other, error)) return false;
  std::ifstream a(one, std::ios::binary), b(other, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return a && b && std::equal(Bytes(a), Bytes(), Bytes(b), Bytes());
}

/// Prints the file, or its last bytes.
void show(std::ostream& out, const fs::path& path, std::optional<std::streamoff> most = {}) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() <= 0) return;
  in.seekg(most ? std::max<std::streamoff>(0, in.tellg() - std::streampos(*most)) : 0);
  out << in.rdbuf() << std::flush;
}

}  // namespace

WorkFolder::WorkFolder(const fs::path& path) : path_(fs::absolute(path)) {
  clear();
  std::error_code error;
  if (!fs::create_directory(path_, error)) fail(path_, error.message());
}

void WorkFolder::clear() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

int write_or_report_loss(const RunFolder& folder, const int& programs_code,
                         const std::function<int()>& write) try {
  return write();
} catch (const std::exception&) {
  if (folder.is_there()) throw;
  print_wrapped(std::cerr, "occbench: " + printable(folder.path().string()) +
                               " was removed while the program ran: what was measured is lost");
  return programs_code;
}

RunOutcome Outputs::run(ProgramRun what, const std::string& kind) {
  const bool is_first = ++runs_ == 1;
  const fs::path first = folder_ / "stdout", output = is_first ? first : folder_ / "stdout-now",
                 errors = folder_ / "stderr-now";
  what.output = output.string();
  if (!is_first) what.errors = errors.string();
  RunOutcome now{.exit = run_attached(what)};
  if (is_first) show(std::cout, first);
  std::error_code error;
  now.has_output = fs::file_size(output, error) > 0 && !error;
  now.is_same_output = is_first || !now.has_succeeded() || is_same(first, output);
  if (now.has_succeeded()) return now;
  constexpr std::streamoff shown = 2'000;
  if (!is_first) show(std::cerr, errors, shown);
  std::cerr << "occbench: the program failed in run " << runs_ << ", " << kind << ": "
            << (now.exit.why.empty() ? "exit code " + std::to_string(now.exit.code) : printable(now.exit.why))
            << '\n';
  return now;
}

}  // namespace occbench::commands
