// SPDX-License-Identifier: Apache-2.0
// Parses `ptxas -v` and `cuobjdump -res-usage` output within a build log.
#pragma once

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

 private:
  std::vector<KernelUse> kernels_;
  bool are_kernel_properties_ =
      false;  ///< the properties belong to the last kernel, not to a function it calls
};

/// Reads `cuobjdump -res-usage` line by line.
class ResourceUsage {
 public:
  void read(const std::string& line);
  /// In order. For cc 9.0 and later cuobjdump 13 includes the reserved 1,024 B of shared memory: subtracted
  /// if all kernels of a dump have at least that much.
  [[nodiscard]] std::vector<KernelUse> kernels() const;

 private:
  std::vector<KernelUse> kernels_;
  std::string name_, cc_;
};

}  // namespace occbench::binary
