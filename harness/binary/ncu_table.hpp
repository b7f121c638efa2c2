// SPDX-License-Identifier: Apache-2.0
// The table that `ncu --csv` prints, page raw or details, a launch's cells at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench::binary {

/// Takes `ncu --csv` line by line; what other programs print around it is passed over.
class NcuTable {
 public:
  /// Whether the line is of a launch, whose cells can then be asked for.
  bool read(const std::string& line);
  /// Whether there was a table, be it without launches.
  [[nodiscard]] bool is_ncu() const { return !header_.empty(); }
  /// Whether a row ended before its last cell, as the last one of a profiler that was killed does.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  /// Of the launch, in all that was read: lines of page details share it.
  [[nodiscard]] std::string id() const;
  /// Empty where there is no such column.
  [[nodiscard]] std::string cell(const std::string& name) const;
  /// By name, value and unit: all of page raw, the one of page details.
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
