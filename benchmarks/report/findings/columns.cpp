// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/columns.hpp"

#include <algorithm>

#include "harness/record/schema.hpp"

namespace occbench::findings {

namespace {

const std::vector<ColumnFacts>& all_columns() {
  static const std::vector<ColumnFacts> columns = [] {
    std::vector<ColumnFacts> all;
    for (const auto& column : schema_entries("cases.csv")) {
      ColumnFacts facts{.name = column.at("name"),
                        .role = column.value("role", ""),
                        .words = column.value("words", ""),
                        .split_order = column.value("split_order", 0),
                        .is_text_column = column.at("type") == "string",
                        .is_compiled = column.value("compiled", false)};
      // A kernel has the width of its tiles compiled in or takes it at run time.
      facts.is_of_kernel = !facts.name.starts_with("register_") &&
                           (facts.is_compiled || facts.role == "fixed" || facts.name == "tile_width");
      all.push_back(std::move(facts));
    }
    return all;
  }();
  return columns;
}

}  // namespace

const ColumnFacts* facts_of(std::string_view column) {
  const auto found = std::ranges::find(all_columns(), column, &ColumnFacts::name);
  return found == all_columns().end() ? nullptr : &*found;
}

bool is_text_column(std::string_view column) {
  const ColumnFacts* facts = facts_of(column);
  return facts != nullptr && facts->is_text_column;
}

std::vector<std::string> columns_of(std::initializer_list<std::string_view> roles,
                                    std::vector<std::string> first, const std::vector<std::string>& last) {
  const auto has = [](const auto& names, const auto& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const ColumnFacts& column : all_columns())
    if (has(roles, column.role) && !has(first, column.name) && !has(last, column.name))
      first.push_back(column.name);
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

const std::vector<std::string>& requested_columns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> asked = columns_of({"dial", "fixed", "curve"});
    std::ranges::stable_sort(asked, {}, [](const std::string& name) { return facts_of(name)->split_order; });
    return asked;
  }();
  return columns;
}

}  // namespace occbench::findings
