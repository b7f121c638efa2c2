// SPDX-License-Identifier: Apache-2.0
// NVTX ranges of the program: which phase a thread is in. The program's NVTX headers look for a tool in the
// environment; for `--by-range` that is the preloaded library.
#pragma once

#include <cstdint>
#include <string>

namespace occbench::attach {

/// The number of this thread's innermost pushed range, of any domain; 0: none. Equal names have equal
/// numbers.
[[nodiscard]] std::uint32_t current_range() noexcept;

/// "forward", or "DOMAIN: forward" if the range has a domain.
[[nodiscard]] std::string name_of_range(std::uint32_t number);

/// Calls `listener` with the number of each outermost range that a thread pushes, except ranges beyond the
/// number of names that are kept.
void set_outermost_listener(void (*listener)(std::uint32_t range)) noexcept;

/// Called in the child of a fork, where the other threads are gone.
void forget_range_locks() noexcept;

}  // namespace occbench::attach
