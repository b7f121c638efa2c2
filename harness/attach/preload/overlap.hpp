// SPDX-License-Identifier: Apache-2.0
// Finds kernels that overlapped another kernel, by start and end on the device.
#pragma once

#include <cstdint>
#include <vector>

namespace occbench::attach {

/// A kernel run from CUPTI's record.
struct KernelRun {
  std::uint32_t correlation = 0;  ///< of the launching call
  std::uint32_t device = 0;
  std::uint32_t graph = 0;       ///< CUPTI's number of the graph; 0: none
  std::uint64_t graph_node = 0;  ///< number of the node (cuptiGetGraphNodeId)
  std::uint64_t start_ns = 0, end_ns = 0;
  bool is_overlapped = false;  ///< another kernel ran on the device at the same time

  [[nodiscard]] double time_us() const { return 1e-3 * static_cast<double>(end_ns - start_ns); }
};

/// Records come in batches, and overlapping kernels may be one batch apart: each batch is compared with both
/// neighbours once the next one is there.
class Overlaps {
 public:
  /// Takes a batch and returns the previous one with its overlaps marked.
  std::vector<KernelRun> add(std::vector<KernelRun> batch);

 private:
  std::vector<KernelRun> before_, held_;
};

}  // namespace occbench::attach
