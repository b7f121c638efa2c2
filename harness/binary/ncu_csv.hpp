// SPDX-License-Identifier: Apache-2.0
// Launches profiled by Nsight Compute: `ncu --csv` (page raw or details, or their summaries), or a report
// that ncu can import.
#pragma once

#include <string>

#include "harness/binary/ncu_launch.hpp"
#include "harness/binary/ncu_table.hpp"

namespace occbench::binary {

/// Reads `ncu --csv` line by line and skips the output of other programs.
class NcuCsv {
 public:
  void read(const std::string& line);
  [[nodiscard]] const NcuLaunches& launches() const { return launches_; }
  /// Whether there was a table, even one without register counts.
  [[nodiscard]] bool is_ncu() const { return table_.is_ncu(); }
  [[nodiscard]] bool is_cut() const { return table_.is_cut(); }

 private:
  NcuTable table_;
  NcuLaunches launches_;
};

/// Output of `ncu --import` for a report, with metric instances if `with_parts`. Throws UserError with
/// Exit::tool_missing if ncu is not found, and with Exit::file if it cannot read the report.
[[nodiscard]] std::string ncu_import(const std::string& report, bool with_parts = false);

}  // namespace occbench::binary
