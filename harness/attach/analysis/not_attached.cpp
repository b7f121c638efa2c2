// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <map>
#include <sstream>
#include <system_error>

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/protocol/attachable.hpp"
#include "harness/io/files.hpp"

namespace occbench::attach {

std::string describe_not_attached(const std::filesystem::path& path) {
  constexpr std::size_t limit = 2 * max_not_attached_bytes, most_named = 4;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "";
  const std::string text = read_file(path, limit);
  std::istringstream lines(text);
  std::map<std::string, std::size_t> programs;
  std::size_t processes = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;  // truncated line
    ++programs[line.substr(tab + 1) + " (" + line.substr(0, tab) + ")"];
    ++processes;
  }
  if (processes == 0) return "";
  std::string names;
  std::size_t count = 0;
  for (const auto& [program, times] : programs) {
    if (++count > most_named) break;
    names += (names.empty() ? "" : ", ") + program + (times > 1 ? " x " + std::to_string(times) : "");
  }
  if (programs.size() > most_named) names += ", " + std::to_string(programs.size() - most_named) + " more";
  const std::string at_least = text.size() < max_not_attached_bytes ? "" : "at least ";
  return at_least + std::to_string(processes) + (processes == 1 ? " process was" : " processes were") +
         " not attached to: " + names;
}

}  // namespace occbench::attach
