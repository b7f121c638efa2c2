// SPDX-License-Identifier: Apache-2.0
// Parses the table of `ncu --csv`, page raw or details, row by row.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench::binary {

/// Reads `ncu --csv` line by line and skips the output of other programs.
class NcuTable {
 public:
  /// Returns whether the line is a row of a launch; its cells are then available.
  bool read(const std::string& line);
  /// Whether there was a table, even one without launches.
  [[nodiscard]] bool is_ncu() const { return !header_.empty(); }
  /// Whether a row was incomplete, as after killing the profiler.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  /// Identifies the launch; the rows of page details share it.
  [[nodiscard]] std::string id() const;
  /// Empty if there is no such column.
  [[nodiscard]] std::string cell(const std::string& name) const;
  /// Calls visit(name, value, unit) for the row's metrics: all of page raw, one of page details.
  void each_metric(
      const std::function<void(const std::string&, const std::string&, const std::string&)>& take) const;

 private:
  std::vector<std::string> header_, units_;
  csv::Row cells_;
  std::map<std::string, std::size_t> at_;
  int tables_ = 0;
  bool is_cut_ = false;
};

}  // namespace occbench::binary
