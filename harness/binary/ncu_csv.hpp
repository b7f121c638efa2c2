// SPDX-License-Identifier: Apache-2.0
// Launches that Nsight Compute counted: `ncu --csv`, page raw or details, or a report that ncu reads.
#pragma once

#include <string>
#include <vector>

#include "harness/binary/kernel_use.hpp"
#include "harness/binary/ncu_table.hpp"

namespace occbench::binary {

/// Reads `ncu --csv` line by line; what other programs print around it is passed over.
class NcuCsv {
 public:
  void read(const std::string& line);
  /// Launches with their registers, those of one kernel and footprint as one.
  [[nodiscard]] std::vector<KernelUse> kernels() const;
  /// Whether there was a table, be it without registers.
  [[nodiscard]] bool is_ncu() const { return table_.is_ncu(); }
  [[nodiscard]] bool is_cut() const { return table_.is_cut(); }

 private:
  void metric(KernelUse& launch, const std::string& name, const std::string& text, const std::string& unit);

  NcuTable table_;
  std::vector<std::pair<std::string, KernelUse>> launches_;  ///< by process and ID
};

/// What ncu prints of a report, and if `with_parts` what each metric is the sum of. Throws UserError:
/// Exit::tool_missing where there is no ncu, Exit::file where it cannot read the report.
[[nodiscard]] std::string ncu_import(const std::string& report, bool with_parts = false);

}  // namespace occbench::binary
