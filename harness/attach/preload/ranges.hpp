// SPDX-License-Identifier: Apache-2.0
// NVTX ranges of the program: which phase a thread is in. The program's NVTX headers look for a tool in the
// environment; for `--by-range` that is the preloaded library.
#pragma once

#include <cstdint>
#include <string>

namespace occbench::attach {

/// The innermost range that this thread has pushed and not popped, of any domain; 0: none. Ranges of equal
/// names have equal numbers.
[[nodiscard]] std::uint32_t current_range() noexcept;

/// "forward", or "DOMAIN: forward" where the range is of a domain.
[[nodiscard]] std::string name_of_range(std::uint32_t number);

/// `listener` hears of each range that a thread pushes outside any other, by its number; not of those that
/// are not told apart.
void hear_outermost(void (*listener)(std::uint32_t range)) noexcept;

/// In the child of a fork, whose other threads are gone.
void forget_range_locks() noexcept;

}  // namespace occbench::attach
