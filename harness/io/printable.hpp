// SPDX-License-Identifier: Apache-2.0
// Names that others wrote, on their way to a terminal or a table.
#pragma once

#include <string>
#include <string_view>

namespace occbench {

/// Text in which all is seen and nothing steers: characters of tools/occbench_tools/unprintable.txt as "\x1b"
/// or "\u202e", special spaces as a blank, bytes that are no UTF-8 as "\xff". The tools for Python do the
/// same.
[[nodiscard]] std::string printable(std::string_view text);

/// Whether it holds what steers a terminal or turns the direction of writing.
[[nodiscard]] bool steers(std::string_view text);

}  // namespace occbench
