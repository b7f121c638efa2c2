// SPDX-License-Identifier: Apache-2.0
// What `occbench calc FILE` does not answer, on standard error.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {

/// A kernel's name in a table and in messages has at most as many characters.
inline constexpr std::size_t name_room = 44;

/// Prints what of the file was left out, kernels by architectures that calc does not know, and what tools
/// refused and what to do.
void print_left_out(const binary::KernelUses& uses, const std::map<std::string, std::size_t>& unknown,
                    const std::string& source);

}  // namespace occbench::commands
