// SPDX-License-Identifier: Apache-2.0
// Parses ncu's output without --csv, or a pasted part of it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "harness/binary/ncu_launch.hpp"

namespace occbench::binary {

/// Reads line by line and skips the output of other programs.
class NcuText {
 public:
  void read(std::string_view line);
  [[nodiscard]] const NcuLaunches& launches() const { return launches_; }
  /// Whether the last line is a row that ends before the table's edge: digits may be missing.
  [[nodiscard]] bool ends_in_short_row() const { return ends_in_short_row_; }
  /// Whether there was a section or a register count.
  [[nodiscard]] bool is_ncu() const { return has_section_ || launches_.has_registers(); }

 private:
  bool read_kernel(std::string_view line);
  void read_metric(std::string_view line);
  void start(const NcuLaunches::Kernel& kernel);
  /// Whether a row is shorter than its table; remembers where rows end.
  bool is_short_row(std::string_view row, std::size_t end);

  NcuLaunches launches_;
  std::string process_;
  int kernels_ = 0;
  std::set<std::string> seen_;  ///< metrics of this launch: a repeated one starts a new launch
  bool is_summary_ = false, has_section_ = false;
  std::size_t table_end_ = 0;  ///< end column of the table according to its rule; 0: no rule yet
  std::size_t rows_end_ = 0;   ///< common end column of rows without a rule; 0: they differ
  int rows_ = 0;
  bool ends_in_short_row_ = false;
};

}  // namespace occbench::binary
