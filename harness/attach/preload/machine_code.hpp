// SPDX-License-Identifier: Apache-2.0
// What the code of an image says of its kernels: whether they would notice added shared memory, or fewer
// resident blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace occbench::attach {

/// Kernels as their module names them, each once in a list.
struct SearchedCode {
  std::vector<std::string> smem_readers;       ///< read the size of their shared memory
  std::vector<std::string> independent;        ///< whose blocks wait for no other
  std::vector<std::string> perhaps_dependent;  ///< the others, of which there is PTX alone included
  bool is_whole = true;                        ///< all code for these GPUs and all PTX was searched
};

/// In an image that the driver took as a module or library: a cubin, PTX, containers of both, compressed or
/// not, or the runtime's wrapper of them. Skips what these devices do not run: code for other major compute
/// capabilities, and PTX next to code for each of `capabilities` (90 for 9.0). Without any, searches all.
[[nodiscard]] SearchedCode search_code(const void* image, const std::vector<int>& capabilities);

/// Whether one instruction of 128 bits reads %dynamic_smem_size or %total_smem_size. `capability`: 90.
[[nodiscard]] bool reads_smem_size(std::uint64_t low, std::uint64_t high, int capability);

/// Whether the blocks of a kernel may wait for each other, by its machine code.
enum class BlockWaits {
  none,     ///< no loop reads what another block may write meanwhile
  perhaps,  ///< a loop does, or where the code goes is not known
};

/// `code`: a section of 128-bit instructions; `capability`: 90 for 9.0. A wait is a loop around a strong
/// load, an atomic, a fence or a sleep. A weak load without a fence may be served by the L1 for good, so no
/// code waits by it. In a function that kernels call, any such instruction counts: the loop may be the
/// caller's.
[[nodiscard]] BlockWaits block_waits(std::span<const unsigned char> code, int capability, bool is_function);

}  // namespace occbench::attach
