// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/print.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "benchmarks/commands/inspect/columns.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t name_room = 44, names_listed = 3;

/// The first row of each kernel, whose rows follow one another.
std::vector<InspectedKernel> firsts_of(const std::vector<InspectedKernel>& rows) {
  std::vector<InspectedKernel> firsts;
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    for (end = i + 1; end < rows.size() && rows[end].kernel == rows[i].kernel;) ++end;
    firsts.push_back(rows[i]);
    firsts.back().ranked = {rows.begin() + static_cast<std::ptrdiff_t>(i), end - i};
  }
  if (firsts.size() == rows.size())
    for (InspectedKernel& first : firsts) first.ranked = {};
  return firsts;
}

/// Findings and statuses, and the kernels that have each.
void print_remarks(std::ostream& out, const std::vector<InspectedKernel>& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> remarks;
  const auto add = [&](const std::string& what, auto holds) {
    std::vector<std::string> names;
    std::map<std::string, std::size_t> times;  // template instances and other architectures share a name
    for (const InspectedKernel& row : rows)
      if (holds(row) && times[table_name(*row.kernel)]++ == 0) names.push_back(table_name(*row.kernel));
    for (std::string& name : names)
      if (const std::size_t count = times[name]; count > 1) name += " (" + with_thousands(count) + " times)";
    if (!names.empty()) remarks.emplace_back(what, std::move(names));
  };
  for (const FindingText& each : finding_texts)
    if (each.meaning != nullptr)
      add(each.meaning, [&](const InspectedKernel& r) { return each.is_in(r.findings); });
  std::set<std::string> statuses;
  for (const InspectedKernel& row : rows)
    if (row.answer.status != "ok") statuses.insert(row.answer.status);
  for (const std::string& status : statuses)
    add(status, [&](const InspectedKernel& r) { return r.answer.status == status; });
  add("not linked yet: these registers are the least, and shared memory and stack are not known",
      [](const InspectedKernel& r) { return !r.kernel->is_linked; });
  if (!remarks.empty()) out << '\n';
  for (const auto& [what, names] : remarks)
    print_wrapped(out, join_first(names, names_listed) + ": " + what, "  ");
  if (std::ranges::any_of(rows, &InspectedKernel::is_chosen)) {
    out << '\n';
    print_wrapped(out, "* the size nearest to 256 that has the highest occupancy; --block-size sets it",
                  "  ");
  }
}

}  // namespace

std::string table_name(const binary::CompiledKernel& kernel) {
  return printable(binary::short_name(kernel.use.name, name_room));
}

void print_inspected(std::ostream& out, const std::string& format, const std::string& title,
                     const std::vector<InspectedKernel>& rows) {
  print_wrapped(out, title);
  out << '\n';
  const std::vector<InspectedKernel> firsts = firsts_of(rows);
  print_cells(out, format, table_of(inspect_columns(), firsts));
  print_remarks(out, firsts);
}

void print_all_columns(std::ostream& out, const std::string& format,
                       const std::vector<InspectedKernel>& rows) {
  if (format == "csv") return print_csv(out, inspect_columns(), rows);
  print_json_lines(out, inspect_columns(), rows);
}

}  // namespace occbench::commands
