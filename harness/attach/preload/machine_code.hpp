// SPDX-License-Identifier: Apache-2.0
// Analyses the kernels of an image: whether they would notice added shared memory or fewer resident blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace occbench::attach {

/// Kernel names as in their module; a list has no duplicates.
struct SearchedCode {
  std::vector<std::string> smem_readers;       ///< read the size of their shared memory
  std::vector<std::string> independent;        ///< blocks never wait for other blocks
  std::vector<std::string> perhaps_dependent;  ///< all others, including those with PTX only
  bool is_whole = true;                        ///< all code for these GPUs and all PTX was searched
};

/// Searches an image that the driver took as a module or library: a cubin, PTX, containers of both (also
/// compressed), or the runtime's wrapper of them. Skips what these devices do not run: code for other major
/// compute capabilities, and PTX next to code for each of `capabilities` (90 for 9.0). If empty, searches
/// all.
[[nodiscard]] SearchedCode search_code(const void* image, const std::vector<int>& capabilities);

/// Whether one 128-bit instruction reads %dynamic_smem_size or %total_smem_size. `capability`: 90.
[[nodiscard]] bool reads_smem_size(std::uint64_t low, std::uint64_t high, int capability);

/// Whether machine code shows that a kernel's blocks may wait for each other.
enum class BlockWaits {
  none,     ///< no loop reads what another block may write meanwhile
  perhaps,  ///< a loop does, or control flow is unknown
};

/// `code`: a section of 128-bit instructions; `capability`: 90 for 9.0. A wait is a loop with a strong load,
/// an atomic, a fence or a sleep. Weak loads without a fence do not count: the L1 may serve them forever. In
/// a function that kernels call, any such instruction counts, as the loop may be in the caller.
[[nodiscard]] BlockWaits block_waits(std::span<const unsigned char> code, int capability, bool is_function);

}  // namespace occbench::attach
