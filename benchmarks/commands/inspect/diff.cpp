// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/diff.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/commands/inspect/columns.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"

namespace occbench::commands {
namespace {

/// What a compiler can change, with its name in a table for people.
constexpr std::array<std::pair<const char*, const char*>, 10> compared = {
    {{"occupancy", "occupancy"},
     {"registers_per_thread", "registers"},
     {"spill_bytes", "spilled B"},
     {"static_smem_bytes", "static shared B"},
     {"stack_bytes", "stack B"},
     {"barriers", "barriers"},
     {"largest_block", "largest block"},
     {"block_size", "threads"},
     {"constant_bytes", "constants B"},
     {"code_bytes", "code B"}}};

constexpr std::size_t names_per_change = 10;

Value value_of(const Inspected* row, const char* column) {
  return row == nullptr ? Value() : inspect_column(column).of(*row);
}

double number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

double gain(const Changed& c, const char* column) {
  return number(value_of(c.after, column)) - number(value_of(c.before, column));
}

bool differs(const Changed& c) {
  return std::ranges::any_of(compared, [&](const auto& pair) {
    // A block size that nobody gave follows from the rest.
    if (std::string_view(pair.first) == "block_size" && c.before->is_chosen) return false;
    return value_of(c.before, pair.first) != value_of(c.after, pair.first);
  });
}

std::set<std::string> architectures(const std::vector<Inspected>& rows) {
  std::set<std::string> names;
  for (const Inspected& row : rows) names.insert(row.kernel->architecture);
  return names;
}

std::string shown(const Value& value, bool is_share) {
  if (std::holds_alternative<std::monostate>(value)) return "unknown";
  if (is_share) return percent(number(value));
  return grouped(std::get<std::int64_t>(value));
}

void print_table(std::ostream& out, const std::string& format, const std::vector<Changed>& changed) {
  std::vector<csv::Row> table = {{"kernel"}};
  for (const Changed& c : changed) table.push_back({table_name(c.kernel())});
  const auto add = [&](const std::string& header, auto cell) {
    table[0].push_back(header);
    for (std::size_t i = 0; i < changed.size(); ++i) table[i + 1].push_back(cell(changed[i]));
  };
  const std::string& first = changed.front().kernel().architecture;
  if (std::ranges::any_of(changed, [&](const Changed& c) { return c.kernel().architecture != first; }))
    add("code for", [](const Changed& c) { return c.kernel().architecture; });
  for (const auto& [column, header] : compared) {
    const auto cell = [&, name = column](const Changed& c) {
      const Value before = value_of(c.before, name), after = value_of(c.after, name);
      const bool is_share = std::string_view(name) == "occupancy";
      if (before == after) return shown(after, is_share);
      return shown(before, is_share) + " -> " + shown(after, is_share);
    };
    if (std::ranges::any_of(changed, [&, name = column](const Changed& c) {
          return value_of(c.before, name) != value_of(c.after, name);
        }))
      add(header, cell);
  }
  print_cells(out, format, table);
}

void print_names(std::ostream& out, const char* what, const std::vector<Changed>& kernels) {
  if (kernels.empty()) return;
  std::vector<std::string> names;
  for (const Changed& c : kernels) names.push_back(table_name(c.kernel()));
  out << '\n';
  print_wrapped(out, std::string(what) + ": " + listed(names, names_per_change), "  ");
}

/// Every kernel that is not as it was, with all that is compared.
void print_for_programs(std::ostream& out, const std::string& format, const Difference& d) {
  csv::Row header = {"kernel", "architecture", "change"};
  for (const auto& [column, text] : compared) {
    header.push_back(std::string(old_prefix) + column);
    header.emplace_back(column);
  }
  if (format == "csv") out << csv::format(header);
  bool is_first = true;
  const auto print = [&](const Changed& c, const char* change) {
    std::vector<Value> values = {binary::demangled(c.kernel().use.name), c.kernel().architecture,
                                 std::string(change)};
    for (const auto& [column, text] : compared)
      values.insert(values.end(), {value_of(c.before, column), value_of(c.after, column)});
    if (format == "csv") {
      csv::Row cells;
      for (const Value& value : values) cells.push_back(cell(value));
      out << csv::format(cells);
      return;
    }
    nlohmann::ordered_json one;
    for (std::size_t i = 0; i < values.size(); ++i) one[header[i]] = to_json(values[i]);
    out << (is_first ? "[\n " : ",\n ") << one.dump(-1, ' ', true, Json::error_handler_t::replace);
    is_first = false;
  };
  for (const Changed& c : d.changed) print(c, "changed");
  for (const Changed& c : d.only_before) print(c, "gone");
  for (const Changed& c : d.only_after) print(c, "new");
  if (format == "json") out << (is_first ? "[]\n" : "\n]\n");
}

}  // namespace

Difference difference(const std::vector<Inspected>& before, const std::vector<Inspected>& after) {
  const bool each_has_one = architectures(before).size() == 1 && architectures(after).size() == 1;
  // Names of kernels in anonymous namespaces hold a hash of their file; demangled they do not.
  const auto key = [&](const Inspected& row) {
    return binary::demangled(row.kernel->use.name) + (each_has_one ? "" : '\n' + row.kernel->architecture);
  };
  std::map<std::string, std::vector<const Inspected*>> earlier;
  for (const Inspected& row : before) earlier[key(row)].push_back(&row);
  Difference d;
  std::map<std::string, std::size_t> taken;
  for (const Inspected& row : after) {
    const std::string name = key(row);
    const auto found = earlier.find(name);
    const std::size_t place = taken[name]++;
    if (found == earlier.end() || place >= found->second.size()) {
      d.only_after.push_back({.after = &row});
      continue;
    }
    const Changed pair{.before = found->second[place], .after = &row};
    if (differs(pair))
      d.changed.push_back(pair);
    else
      ++d.unchanged;
  }
  std::map<std::string, std::size_t> met;
  for (const Inspected& row : before) {
    const std::string name = key(row);
    if (met[name]++ >= taken[name]) d.only_before.push_back({.before = &row});
  }

  const auto rank = [](const Changed& c) {
    const double occupancy = gain(c, "occupancy");
    return std::tuple(occupancy < 0   ? 0
                      : occupancy > 0 ? 1
                                      : 2,
                      -std::abs(occupancy), -gain(c, "spill_bytes"), -gain(c, "registers_per_thread"));
  };
  std::ranges::stable_sort(d.changed, {}, rank);
  return d;
}

void print_difference(std::ostream& out, const std::string& format, const std::string& title,
                      const Difference& d) {
  if (format == "csv" || format == "json") return print_for_programs(out, format, d);
  print_wrapped(out, title + ": " + grouped(d.unchanged + d.changed.size()) + " in both, " +
                         grouped(d.changed.size()) + " changed, " + grouped(d.only_before.size()) +
                         " gone, " + grouped(d.only_after.size()) + " new");
  if (!d.changed.empty()) {
    out << '\n';
    print_table(out, format, d.changed);
  }
  print_names(out, "gone", d.only_before);
  print_names(out, "new", d.only_after);
}

Condition::Lookup lookup_in(const Changed& changed) {
  return [changed](const std::string& name) -> std::optional<double> {
    const bool is_old = name.starts_with(old_prefix);
    const Value value = value_of(is_old ? changed.before : changed.after,
                                 name.substr(is_old ? old_prefix.size() : 0).c_str());
    return std::holds_alternative<std::monostate>(value) ? std::nullopt : std::optional(number(value));
  };
}

}  // namespace occbench::commands
