// SPDX-License-Identifier: Apache-2.0
// Whether the blocks of a kernel may wait for each other, by its machine code.
#pragma once

#include <span>

namespace occbench::attach {

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
