// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/columns.hpp"

#include <algorithm>
#include <array>
#include <case_columns.hpp>
#include <nlohmann/json.hpp>

namespace occbench::findings {

namespace {

const std::vector<ColumnFacts>& all_columns() {
  static const std::vector<ColumnFacts> columns = [] {
    std::vector<ColumnFacts> all;
    for (const auto& column : nlohmann::json::parse(case_columns_json)) {
      ColumnFacts facts{.name = column.at("name"),
                        .role = column.value("role", ""),
                        .words = column.value("words", ""),
                        .holds_words = column.at("type") == "string"};
      // A kernel has the width of its tiles compiled in or takes it at run time.
      facts.is_of_kernel =
          !facts.name.starts_with("register_") &&
          (column.value("compiled", false) || facts.role == "fixed" || facts.name == "tile_width");
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

bool holds_words(std::string_view column) {
  const ColumnFacts* facts = facts_of(column);
  return facts != nullptr && facts->holds_words;
}

const std::vector<std::string>& asked_columns() {
  static const std::vector<std::string> columns = [] {
    std::vector<std::string> first{"form",         "block_size",        "register_route",
                                   "register_cap", "carveout_percent",  "cluster_size",
                                   "tile_width",   "working_set_bytes", "stages"};
    const std::array<std::string, 2> last{"barriers", "asked_block_s"};
    for (const ColumnFacts& column : all_columns()) {
      const bool is_asked = !column.role.empty() && column.role != "sweep";
      if (is_asked && std::ranges::find(first, column.name) == first.end() &&
          std::ranges::find(last, column.name) == last.end())
        first.push_back(column.name);
    }
    first.insert(first.end(), last.begin(), last.end());
    return first;
  }();
  return columns;
}

}  // namespace occbench::findings
