// SPDX-License-Identifier: Apache-2.0
// The commands that benchmarks/CMakeLists.txt lists, in that order; the build writes these functions.
#pragma once

#include <occbench/program.hpp>
#include <span>

namespace occbench::commands {

/// Of every program, whatever its kernels.
[[nodiscard]] std::span<const Command* const> common_commands();
/// Of `occbench` alone.
[[nodiscard]] std::span<const Command* const> suite_commands();

}  // namespace occbench::commands
