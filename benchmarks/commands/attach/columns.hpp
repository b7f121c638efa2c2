// SPDX-License-Identifier: Apache-2.0
// The columns of a CSV file: one list, which makes its header and each row's cells.
#pragma once

#include <span>
#include <string>

#include "harness/io/csv.hpp"

namespace occbench::commands {

template <class Row>
struct CsvColumn {
  const char* name;
  std::string (*cell)(const Row&);
};

template <class Row>
std::string csv_header(std::span<const CsvColumn<Row>> columns) {
  csv::Row names;
  for (const auto& column : columns) names.emplace_back(column.name);
  return csv::format(names);
}

template <class Row>
std::string csv_line(std::span<const CsvColumn<Row>> columns, const Row& row) {
  csv::Row cells;
  for (const auto& column : columns) cells.push_back(column.cell(row));
  return csv::format(cells);
}

}  // namespace occbench::commands
