// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/external.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "harness/io/check.hpp"
#include "harness/theory/edit_distance.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

constexpr auto tools = std::to_array<Tool>({
    {"report", "Read results", "One interactive page for one or several runs"},
    {"explain", "Read results", "The findings of a run"},
    {"plot", "Read results", "A picture per experiment"},
    {"compare", "Read results", "What differs between runs, builds or GPUs"},
    {"fleet", "Read results", "Cards of a cluster that differ from the others"},
    {"cliffs", "Read results", "Each step of each sweep, expected or not"},
    {"predictions", "Read results", "The model's errors against measurements"},
    {"validate", "Read results", "Checks a folder against its schema"},
    {"teach", "Read results", "A lab for the course text: predict, run, check"},
    {"profile", "Nsight Compute", "Counters of a run's cases, measured by ncu"},
    {"caps", "Your kernel", "What a register cap gains, at every step of occupancy"},
    {"import-ncu", "Nsight Compute", "Joins ncu reports to a run's rows"},
    {"inspect-lines", "", "Source lines that hold a kernel's registers, for inspect --lines"},
    {"inspect-price", "", "What the registers of a program's lines cost, for inspect --price"},
    {"machine-code", "", "Describes a kernel's machine code for whatif"},
    {"audit", "", "Compares the machine code with what each variant declares"},
});

bool is_name(const std::string& text) {
  return !text.empty() && text.front() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

/// Empty where none is near.
std::string nearest(const std::string& name, std::span<const std::string> built_in) {
  std::vector<std::string> names(built_in.begin(), built_in.end());
  for (const Tool& tool : tools) names.emplace_back(tool.name);
  const auto distance = [&](const std::string& other) { return theory::edit_distance(name, other); };
  const auto best = std::ranges::min_element(names, {}, distance);
  return distance(*best) <= 2 ? *best : "";
}

}  // namespace

std::span<const Tool> python_tools() { return tools; }

std::optional<fs::path> find_external(const std::string& name, const fs::path& program,
                                      const std::string& search_path) {
  if (!is_name(name)) return std::nullopt;
  std::vector<fs::path> folders{program.parent_path()};
  // A program in TREE/build/PRESET/benchmarks has its Python environment in TREE/build/venv.
  if (folders[0].filename() == "benchmarks")
    folders.push_back(folders[0].parent_path().parent_path() / "venv/bin");
  for (std::size_t at = 0; at <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', at), search_path.size());
    if (fs::path folder = search_path.substr(at, end - at); folder.is_absolute()) folders.push_back(folder);
    at = end + 1;
  }
  for (const fs::path& folder : folders) {
    fs::path file = folder / ("occbench-" + name);
    std::error_code error;
    if (fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

void execute_external(const std::string& name, const std::vector<std::string>& arguments,
                      std::span<const std::string> built_in) {
  const char* const path = std::getenv("PATH");
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const auto file = find_external(name, program, path ? path : "");
  if (!file) {
    if (std::ranges::any_of(tools, [&](const Tool& tool) { return name == tool.name; }))
      throw UserError(Exit::tool_missing,
                      "'" + name + "' is one of occbench's Python tools, which are not installed: " +
                          "`pip install 'occbench[report]'`");
    const std::string near = nearest(name, built_in);
    throw UserError(Exit::usage, "no command '" + name + "'; " +
                                     (near.empty() ? "" : "did you mean '" + near + "'? ") +
                                     "`occbench --help` lists them");
  }
  std::vector<std::string> words{file->string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  setenv("OCCBENCH", program.c_str(), 1);  // teach and profile call the program that called them
  setenv("PYTHONSAFEPATH", "1", 1);        // import no module from the current or the script's folder
  execv(file->c_str(), argv.data());
  throw UserError(Exit::tool_missing, file->string() + ": cannot be run: " + std::strerror(errno));
}

}  // namespace occbench::commands
