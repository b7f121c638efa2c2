// SPDX-License-Identifier: Apache-2.0
// Finds kernels that overlapped another, by their start and end on the device.
#pragma once

#include <cstdint>
#include <vector>

namespace occbench::attach {

/// A kernel that ran, by CUPTI's record.
struct Ran {
  std::uint32_t correlation = 0;  ///< of the call that launched it
  std::uint32_t device = 0;
  std::uint32_t graph = 0;       ///< CUPTI's number of its graph; 0: none
  std::uint64_t graph_node = 0;  ///< and of its node (cuptiGetGraphNodeId)
  std::uint64_t start_ns = 0, end_ns = 0;
  bool is_overlapped = false;  ///< another kernel ran on the device meanwhile

  [[nodiscard]] double time_us() const { return 1e-3 * static_cast<double>(end_ns - start_ns); }
};

/// Records come in batches, and overlapping kernels may be one batch apart. So a batch is compared with both
/// its neighbours, when the next one has come.
class Overlaps {
 public:
  /// Takes a batch, and returns the one before with its overlaps.
  std::vector<Ran> add(std::vector<Ran> batch);

 private:
  std::vector<Ran> before_, held_;
};

}  // namespace occbench::attach
