// SPDX-License-Identifier: Apache-2.0
// Which kernels of an image ask how much shared memory they were given: these would notice what is added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace occbench::attach {

struct SmemReaders {
  std::vector<std::string> kernels;  ///< as their module names them; each at least once
  bool is_whole = true;              ///< all code of these GPUs and all text was looked at
};

/// Of what the driver took as a module or library: a cubin, PTX, containers of both, packed or not, or what
/// the runtime wraps around them. What these devices do not run is not looked at: code for other major
/// compute capabilities, and PTX beside code for each of `capabilities` (90 for 9.0). Without any, all is.
[[nodiscard]] SmemReaders smem_readers(const void* image, const std::vector<int>& capabilities);

/// Whether one instruction of 128 bits reads %dynamic_smem_size or %total_smem_size. `capability`: 90.
[[nodiscard]] bool reads_smem_size(std::uint64_t low, std::uint64_t high, int capability);

}  // namespace occbench::attach
