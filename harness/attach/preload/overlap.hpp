// SPDX-License-Identifier: Apache-2.0
// Kernels that ran, by their start and end on the device, and which of them ran beside another.
#pragma once

#include <cstdint>
#include <vector>

namespace occbench::attach {

/// A kernel that ran, by CUPTI.
struct Ran {
  std::uint32_t correlation = 0;  ///< of the call that launched it
  std::uint32_t device = 0;
  std::uint32_t graph = 0;       ///< CUPTI's number of the graph that it is of; 0: none
  std::uint64_t graph_node = 0;  ///< and of its node in there (cuptiGetGraphNodeId)
  std::uint64_t start_ns = 0, end_ns = 0;
  bool is_overlapped = false;  ///< another kernel ran on the device meanwhile

  [[nodiscard]] double time_us() const { return 1e-3 * static_cast<double>(end_ns - start_ns); }
};

/// Records come in batches, a kernel's perhaps one batch after that of another which ran beside it. So each
/// batch is judged when the next is there, against both its neighbours.
class Overlaps {
 public:
  /// Takes a batch, and gives back the one before.
  std::vector<Ran> add(std::vector<Ran> batch);

 private:
  std::vector<Ran> before_, held_;
};

}  // namespace occbench::attach
