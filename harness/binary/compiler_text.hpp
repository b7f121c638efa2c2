// SPDX-License-Identifier: Apache-2.0
// What `ptxas -v` and `cuobjdump -res-usage` print, among whatever else a build says.
#pragma once

#include <string>
#include <vector>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// Reads `ptxas -v` line by line.
class PtxasText {
 public:
  void read(const std::string& line);
  /// Those with a line of registers, in order.
  [[nodiscard]] std::vector<KernelUse> kernels() const;

 private:
  std::vector<KernelUse> kernels_;
  bool properties_are_its_own_ = false;  ///< of the last kernel, not of a function that it calls
};

/// Reads `cuobjdump -res-usage` line by line.
class ResourceUsage {
 public:
  void read(const std::string& line);
  /// In order. For cc 9.0 and later cuobjdump 13 counts the reserved 1,024 B with a kernel's own: where all
  /// kernels of one dump have so much, it is taken off.
  [[nodiscard]] std::vector<KernelUse> kernels() const;

 private:
  std::vector<KernelUse> kernels_;
  std::string name_, cc_;
};

}  // namespace occbench::binary
