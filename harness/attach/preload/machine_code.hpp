// SPDX-License-Identifier: Apache-2.0
// Finds the kernels of an image that read the size of their shared memory: they would notice added bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace occbench::attach {

struct SmemReaders {
  std::vector<std::string> kernels;  ///< as their module names them; each at least once
  bool is_whole = true;              ///< all code for these GPUs and all PTX was searched
};

/// In an image that the driver took as a module or library: a cubin, PTX, containers of both, compressed or
/// not, or the runtime's wrapper of them. Skips what these devices do not run: code for other major compute
/// capabilities, and PTX next to code for each of `capabilities` (90 for 9.0). Without any, searches all.
[[nodiscard]] SmemReaders smem_readers(const void* image, const std::vector<int>& capabilities);

/// Whether one instruction of 128 bits reads %dynamic_smem_size or %total_smem_size. `capability`: 90.
[[nodiscard]] bool reads_smem_size(std::uint64_t low, std::uint64_t high, int capability);

}  // namespace occbench::attach
