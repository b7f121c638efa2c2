// SPDX-License-Identifier: Apache-2.0
// Parses the tables of `ncu --csv`: pages raw and details, and the summaries of both.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench::binary {

/// The cell separator of a table: spreadsheets use `;` or tabs if `,` is the decimal mark, and pages have
/// Markdown's `|`.
inline constexpr char separators[] = {',', ';', '\t', '|'};
/// The cells of a line; for Markdown without the outer bars and blanks.
[[nodiscard]] csv::Record table_cells(std::string_view line, char separator);

/// Reads `ncu --csv` line by line and skips the output of other programs.
class NcuTable {
 public:
  /// Returns whether the line is a row of a launch; its cells are then available.
  bool read(const std::string& line);
  /// Whether there was a table, even one without launches.
  [[nodiscard]] bool is_ncu() const { return !header_.empty(); }
  /// Whether a row was incomplete, as when the profiler was killed.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  /// Identifies the launch, or the kernel of a summary; the rows of page details share it.
  [[nodiscard]] std::string id() const;
  /// Empty if there is no such column.
  [[nodiscard]] std::string cell(const std::string& name) const;
  /// Calls visit(name, value, unit) for each metric of the row: all of page raw, one of page details.
  void each_metric(
      const std::function<void(const std::string&, const std::string&, const std::string&)>& take) const;

 private:
  bool read_header(const std::string& line);
  /// Page details has one metric per row. Its rules are in further columns, which metric rows omit.
  [[nodiscard]] bool is_details() const { return at_.contains("Metric Name"); }

  std::vector<std::string> header_, units_;
  csv::Row cells_;
  std::map<std::string, std::size_t> at_;
  std::size_t needed_cells_ = 0, indent_ = 0;
  int tables_ = 0;
  char separator_ = ',';
  bool is_cut_ = false;
};

}  // namespace occbench::binary
