// SPDX-License-Identifier: Apache-2.0
// Parses `ptxas -v` and `cuobjdump -res-usage` output within a build log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// Reads `ptxas -v` line by line.
class PtxasText {
 public:
  void read(const std::string& line);
  /// Kernels with a register count, in order.
  [[nodiscard]] std::vector<KernelUse> kernels() const;
  /// The name of the first kernel whose line of registers is missing or ends in the middle.
  /// `is_terminated`: whether the text ends with a line feed.
  [[nodiscard]] std::optional<std::string> incomplete_kernel(bool is_terminated) const;

 private:
  std::vector<KernelUse> kernels_;
  bool are_kernel_properties_ = false;  ///< of the last kernel, not of a function that it calls
  bool is_unit_cut_ = false;            ///< the last line that was read is one of registers, without its end
};

/// Reads `cuobjdump -res-usage` line by line.
class ResourceUsage {
 public:
  void read(const std::string& line);
  /// In order. For cc 9.0 and later cuobjdump 13 includes the reserved 1,024 B of shared memory: subtracted
  /// if all kernels of a dump have at least that much.
  [[nodiscard]] std::vector<KernelUse> kernels() const;
  /// The same of a function.
  [[nodiscard]] std::optional<std::string> incomplete_kernel(bool is_terminated) const;

 private:
  std::vector<KernelUse> kernels_;
  std::string name_, cc_;
  std::optional<std::string> incomplete_, cut_name_;  ///< the latter of the last line that was read
};

}  // namespace occbench::binary
