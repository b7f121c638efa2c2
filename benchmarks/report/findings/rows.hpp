// SPDX-License-Identifier: Apache-2.0
// The valid rows of a run as columns of numbers and words, and the lines over a dial that they make.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/report/findings/columns.hpp"
#include "harness/measure/result.hpp"

namespace occbench::findings {

/// Numbers of rows, in the order of their case_id.
using RowIndices = std::vector<std::size_t>;

/// One cell as a key: numbers in their order, then words in theirs, empty ones last.
struct Cell {
  bool is_empty = true;
  double number = 0;
  std::string text = {};
  friend bool operator==(const Cell&, const Cell&) = default;
  friend bool operator<(const Cell& a, const Cell& b) {
    return std::tie(a.is_empty, a.number, a.text) < std::tie(b.is_empty, b.number, b.text);
  }
};

class Rows {
 public:
  /// The rows of cases.csv whose status is valid. `name` is that file's, for error messages. Throws
  /// UserError(Exit::file) where text is not a CSV of a schema that is read, or a cell is not as
  /// results/schema.json says. A last row without its line feed is left out.
  static Rows of_csv(const std::string& text, const std::string& name);
  /// Of results that are still in memory, those that are valid.
  static Rows of(const std::vector<CaseResult>& results);

  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  [[nodiscard]] bool has(std::string_view column) const { return index_of(column) != absent; }
  /// NaN where the cell is empty or there is no such column.
  [[nodiscard]] double number(std::size_t row, std::string_view column) const;
  /// Empty where the cell is empty or there is no such column.
  [[nodiscard]] const std::string& text(std::size_t row, std::string_view column) const;
  [[nodiscard]] Cell cell(std::size_t row, std::string_view column) const;
  /// The rows of one experiment whose throughput is a number to divide by.
  [[nodiscard]] RowIndices of_experiment(std::string_view name) const;
  /// The experiments that have rows, by name.
  [[nodiscard]] std::vector<std::string> experiments() const;

  /// Throughput in the unit that people read, and that unit: GB/s, TFLOP/s, G operations/s.
  [[nodiscard]] double rate(std::size_t row) const;
  [[nodiscard]] std::string unit(std::size_t row) const;
  /// SM cycles of a loop iteration: by the kernel's own clock, where it has one, else by events.
  [[nodiscard]] double cycles(std::size_t row) const;

 private:
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);
  Rows(std::vector<std::string> header, std::vector<std::vector<std::string>> cells, const std::string& name);
  [[nodiscard]] std::size_t index_of(std::string_view column) const;

  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<std::vector<double>> numbers_;  ///< by column, then row; empty where the column holds words
};

/// An experiment in env.json; invalid entries keep their defaults.
struct Description {
  std::string name = {};
  std::string dial = "warps_per_sm";
  std::vector<std::string> split_by = {};
  std::string scale = "rate";
  bool compares_kernels = false;
  bool is_outside_model = false;
  [[nodiscard]] bool is_over_residency() const {
    return dial == "warps_per_sm" || dial == "occupancy_theoretical";
  }
};
Description description_of(const nlohmann::json& environment, const std::string& experiment);

/// Rows of one curve in the order of the dial, each value once; `parts`: what else is fixed in it.
struct Line {
  std::vector<std::pair<std::string, Cell>> parts = {};
  RowIndices places = {};
};

/// Rows grouped by their cells in `columns`, in the order of the cells.
std::map<std::vector<Cell>, RowIndices> group_by(const Rows& rows, const std::vector<std::string>& columns,
                                                 const RowIndices& places);

/// The lines that these rows of one experiment make over its dial.
std::vector<Line> lines_of(const Rows& rows, const RowIndices& places, const Description& description);

/// How many different values of the dial a line has.
std::size_t values_of(const Rows& rows, const RowIndices& places, std::string_view dial);

}  // namespace occbench::findings
