// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/diff.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "benchmarks/commands/inspect/columns.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"

namespace occbench::commands {
namespace {

/// A column that a compiler can change, with its header in the table for people.
struct ComparedColumn {
  const char* column;
  const char* header;
};
constexpr ComparedColumn compared[] = {
    {"occupancy", "occupancy"},         {"registers_per_thread", "registers"},
    {"spill_bytes", "spilled B"},       {"static_smem_bytes", "static shared B"},
    {"stack_bytes", "stack B"},         {"barriers", "barriers"},
    {"largest_block", "largest block"}, {"block_size", "threads"},
    {"constant_bytes", "constants B"},  {"code_bytes", "code B"}};

constexpr std::size_t names_per_change = 10;

Value value_of(const InspectedKernel* row, const std::string& column) {
  return row == nullptr ? Value() : inspect_column(column).value(*row);
}

double increase(const KernelPair& c, const char* column) {
  return number_of(value_of(c.after, column)).value_or(0) - number_of(value_of(c.before, column)).value_or(0);
}

bool differs(const KernelPair& c) {
  return std::ranges::any_of(compared, [&](const ComparedColumn& each) {
    // A chosen block size follows from the rest.
    if (std::string_view(each.column) == "block_size" && c.before->is_chosen) return false;
    return value_of(c.before, each.column) != value_of(c.after, each.column);
  });
}

std::set<std::string> architectures(const std::vector<InspectedKernel>& rows) {
  std::set<std::string> names;
  for (const InspectedKernel& row : rows) names.insert(row.kernel->architecture);
  return names;
}

std::string value_text(const Value& value, bool is_share) {
  if (std::holds_alternative<std::monostate>(value)) return "unknown";
  if (is_share) return percent(number_of(value).value_or(0));
  return with_thousands(std::get<std::int64_t>(value));
}

void print_table(std::ostream& out, const std::string& format, const std::vector<KernelPair>& changed) {
  std::vector<csv::Row> table = {{"kernel"}};
  for (const KernelPair& c : changed) table.push_back({table_name(c.kernel())});
  const auto add = [&](const std::string& header, auto cell) {
    table[0].push_back(header);
    for (std::size_t i = 0; i < changed.size(); ++i) table[i + 1].push_back(cell(changed[i]));
  };
  const std::string& first = changed.front().kernel().architecture;
  if (std::ranges::any_of(changed, [&](const KernelPair& c) { return c.kernel().architecture != first; }))
    add("code for", [](const KernelPair& c) { return c.kernel().architecture; });
  for (const ComparedColumn& each : compared) {
    const bool is_share = std::string_view(each.column) == "occupancy";
    const auto change = [&](const KernelPair& c) {
      const Value before = value_of(c.before, each.column), after = value_of(c.after, each.column);
      return (before == after ? "" : value_text(before, is_share) + " -> ") + value_text(after, is_share);
    };
    const bool has_changed = std::ranges::any_of(changed, [&](const KernelPair& c) {
      return value_of(c.before, each.column) != value_of(c.after, each.column);
    });
    if (has_changed) add(each.header, change);
  }
  print_cells(out, format, table);
}

void print_names(std::ostream& out, const char* what, const std::vector<KernelPair>& kernels) {
  if (kernels.empty()) return;
  std::vector<std::string> names;
  for (const KernelPair& c : kernels) names.push_back(table_name(c.kernel()));
  out << '\n';
  print_wrapped(out, std::string(what) + ": " + join_first(names, names_per_change), "  ");
}

struct DiffRow {
  const KernelPair& kernel;
  const char* change;
};

struct DiffColumn {
  std::string name;
  std::function<Value(const DiffRow& row)> value;
};

/// Of CSV and JSON.
std::vector<DiffColumn> diff_columns() {
  std::vector<DiffColumn> columns = {
      {"kernel", [](const DiffRow& r) { return Value(binary::demangle(r.kernel.kernel().use.name)); }},
      {"architecture", [](const DiffRow& r) { return Value(r.kernel.kernel().architecture); }},
      {"change", [](const DiffRow& r) { return Value(r.change); }}};
  for (const ComparedColumn& each : compared) {
    const char* const name = each.column;
    columns.push_back({std::string(old_prefix) + name,
                       [name](const DiffRow& r) { return value_of(r.kernel.before, name); }});
    columns.push_back({name, [name](const DiffRow& r) { return value_of(r.kernel.after, name); }});
  }
  return columns;
}

std::vector<DiffRow> diff_rows(const Difference& d) {
  std::vector<DiffRow> rows;
  for (const KernelPair& c : d.changed) rows.push_back({c, "changed"});
  for (const KernelPair& c : d.only_before) rows.push_back({c, "gone"});
  for (const KernelPair& c : d.only_after) rows.push_back({c, "new"});
  return rows;
}

}  // namespace

Difference difference(const std::vector<InspectedKernel>& before, const std::vector<InspectedKernel>& after) {
  const bool each_has_one = architectures(before).size() == 1 && architectures(after).size() == 1;
  // Mangled names in anonymous namespaces contain a hash of the file; demangled names do not.
  const auto key = [&](const InspectedKernel& row) {
    return binary::demangle(row.kernel->use.name) + (each_has_one ? "" : '\n' + row.kernel->architecture);
  };
  std::map<std::string, std::vector<const InspectedKernel*>> earlier;
  for (const InspectedKernel& row : before) earlier[key(row)].push_back(&row);
  Difference d;
  std::map<std::string, std::size_t> taken;
  for (const InspectedKernel& row : after) {
    const std::string name = key(row);
    const auto found = earlier.find(name);
    const std::size_t place = taken[name]++;
    if (found == earlier.end() || place >= found->second.size()) {
      d.only_after.push_back({.after = &row});
      continue;
    }
    const KernelPair pair{.before = found->second[place], .after = &row};
    if (differs(pair))
      d.changed.push_back(pair);
    else
      ++d.unchanged;
  }
  std::map<std::string, std::size_t> met;
  for (const InspectedKernel& row : before) {
    const std::string name = key(row);
    if (met[name]++ >= taken[name]) d.only_before.push_back({.before = &row});
  }

  const auto rank = [](const KernelPair& c) {
    const double occupancy = increase(c, "occupancy");
    return std::tuple(occupancy < 0   ? 0
                      : occupancy > 0 ? 1
                                      : 2,
                      -std::abs(occupancy), -increase(c, "spill_bytes"),
                      -increase(c, "registers_per_thread"));
  };
  std::ranges::stable_sort(d.changed, {}, rank);
  return d;
}

void print_difference(std::ostream& out, const std::string& format, const std::string& title,
                      const Difference& d) {
  if (format == "csv") return print_csv(out, diff_columns(), diff_rows(d));
  if (format == "json") return print_json_lines(out, diff_columns(), diff_rows(d));
  print_wrapped(out, title + ": " + with_thousands(d.unchanged + d.changed.size()) + " in both, " +
                         with_thousands(d.changed.size()) + " changed, " +
                         with_thousands(d.only_before.size()) + " gone, " +
                         with_thousands(d.only_after.size()) + " new");
  if (!d.changed.empty()) {
    out << '\n';
    print_table(out, format, d.changed);
  }
  print_names(out, "gone", d.only_before);
  print_names(out, "new", d.only_after);
}

Condition::Lookup lookup_in(const KernelPair& changed) {
  return [changed](const std::string& name) -> std::optional<double> {
    const bool is_old = name.starts_with(old_prefix);
    const Value value =
        value_of(is_old ? changed.before : changed.after, name.substr(is_old ? old_prefix.size() : 0));
    return number_of(value);
  };
}

}  // namespace occbench::commands
