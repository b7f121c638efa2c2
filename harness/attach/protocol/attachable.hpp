// SPDX-License-Identifier: Apache-2.0
// Which programs LD_PRELOAD does not reach.
#pragma once

#include <cstddef>

namespace occbench::attach {

/// In the folder: a line "REASON<tab>PROGRAM" for each started process that could not be attached to.
constexpr const char* not_attached_file = "not-attached";
constexpr std::size_t max_not_attached_bytes = std::size_t{1} << 20;  ///< later processes are not counted

constexpr const char* with_other_rights = "setuid";

/// Why the program file cannot be attached to; null if it can, or is not a program. Async-signal-safe: called
/// between vfork and exec.
[[nodiscard]] const char* why_not_attachable(const char* path) noexcept;

}  // namespace occbench::attach
