// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/ncu_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "harness/io/check.hpp"
#include "harness/io/child.hpp"

namespace occbench::binary {

void NcuCsv::read(const std::string& line) {
  if (!table_.read(line)) return;
  const std::string invocations = table_.cell("Invocations");
  std::int64_t launches = 1;
  std::from_chars(invocations.data(), invocations.data() + invocations.size(), launches);
  launches_.start(table_.id(), {.name = table_.cell("Kernel Name"),
                                .cc = table_.cell("CC"),
                                .block = table_.cell("Block Size"),
                                .grid = table_.cell("Grid Size"),
                                .launches = std::max<std::int64_t>(launches, 1)});
  table_.each_metric([&](const std::string& name, const std::string& text, const std::string& unit) {
    launches_.add(name, unit, text);
  });
}

std::string ncu_import(const std::string& report, bool with_parts) {
  const std::optional<std::string> ncu = find_program("ncu");
  if (!ncu)
    throw UserError(Exit::tool_missing,
                    report +
                        ": ncu reads it, and is not here; put it on PATH, or give the CSV that `ncu "
                        "--import FILE --csv --page raw` prints elsewhere");
  // Otherwise ncu reads options and section files (Python code) from the working directory.
  std::vector<std::string> words = {*ncu,    "--config-file", "off", "--import",      report,
                                    "--csv", "--page",        "raw", "--print-units", "base"};
  if (with_parts) words.insert(words.end(), {"--print-metric-instances", "details"});
  const ChildOutput output = run_child(words);
  if (output.exit_code != 0)
    throw UserError(Exit::file, report + ": ncu cannot read it: " +
                                    output.out.substr(0, std::min(output.out.find('\n'), std::size_t{200})));
  return output.out;
}

}  // namespace occbench::binary
