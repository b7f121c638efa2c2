// SPDX-License-Identifier: Apache-2.0
// Tables declared once: a column's name and value for CSV and JSON, its header and text for people.
#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench::commands {

using Json = nlohmann::ordered_json;

/// monostate: not known. CSV: empty; JSON: null.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// As CSV has it: a boolean as 0 or 1, text without formulas.
[[nodiscard]] std::string cell(const Value& value);
[[nodiscard]] Json to_json(const Value& value);
/// nullopt of text, and where it is not known.
[[nodiscard]] std::optional<double> number_of(const Value& value);

/// A number that JSON has as text.
[[nodiscard]] Value digits(std::integral auto number) { return std::to_string(number); }

/// An integer that may not be known.
template <class T>
[[nodiscard]] Value or_unknown(const std::optional<T>& value) {
  return value ? Value(static_cast<std::int64_t>(*value)) : Value();
}

template <class Row>
struct Column {
  const char* name;  ///< in CSV and JSON; nullptr: in the table for people alone
  Value (*value)(const Row& row) = nullptr;
  const char* header = nullptr;  ///< in the table for people; nullptr: in CSV and JSON alone
  std::string (*text)(const Row& row) = nullptr;
  /// Whether the table for people has it; nullptr: always.
  bool (*is_shown)(std::span<const Row> rows) = nullptr;
};

/// Of a table for people alone.
template <class Row>
struct TextColumn {
  const char* header;
  std::string (*text)(const Row& row);
  bool (*is_shown)(std::span<const Row> rows) = nullptr;
};

template <class Columns>
[[nodiscard]] csv::Row csv_header(const Columns& columns) {
  csv::Row header;
  for (const auto& column : columns)
    if (column.value) header.emplace_back(column.name);
  return header;
}

template <class Columns, class Row>
[[nodiscard]] csv::Row csv_row(const Columns& columns, const Row& row) {
  csv::Row cells;
  for (const auto& column : columns)
    if (column.value) cells.push_back(cell(column.value(row)));
  return cells;
}

template <class Columns, class Rows>
void print_csv(std::ostream& out, const Columns& columns, const Rows& rows) {
  out << csv::format(csv_header(columns));
  for (const auto& row : rows) out << csv::format(csv_row(columns, row));
}

template <class Columns, class Row>
[[nodiscard]] Json json_of(const Columns& columns, const Row& row) {
  Json object;
  for (const auto& column : columns)
    if (column.value) object[column.name] = to_json(column.value(row));
  return object;
}

/// An array with a line per row, which are printed one by one: there may be many. Strings of others may hold
/// any bytes.
template <class Columns, class Rows>
void print_json_lines(std::ostream& out, const Columns& columns, const Rows& rows) {
  const char* before = "[\n ";
  for (const auto& row : rows) {
    out << before << json_of(columns, row).dump(-1, ' ', true, Json::error_handler_t::replace);
    before = ",\n ";
  }
  out << (std::empty(rows) ? "[]\n" : "\n]\n");
}

/// A header and a line per row, for print_cells().
template <class Columns, class Row>
[[nodiscard]] std::vector<csv::Row> table_of(const Columns& columns, const std::vector<Row>& rows) {
  std::vector<csv::Row> table(rows.size() + 1);
  for (const auto& column : columns) {
    if (column.header == nullptr || (column.is_shown != nullptr && !column.is_shown(rows))) continue;
    table[0].emplace_back(column.header);
    for (std::size_t i = 0; i < rows.size(); ++i) table[i + 1].push_back(column.text(rows[i]));
  }
  return table;
}

}  // namespace occbench::commands
