// SPDX-License-Identifier: Apache-2.0
// The terminal that a table is printed to.
#pragma once

#include <cstddef>
#include <optional>

namespace occbench {

/// The width of this descriptor's terminal; nullopt for a file or a pipe.
std::optional<std::size_t> terminal_columns(int descriptor);

}  // namespace occbench
