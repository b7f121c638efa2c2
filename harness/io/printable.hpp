// SPDX-License-Identifier: Apache-2.0
// Makes untrusted text safe for terminals and tables.
#pragma once

#include <string>
#include <string_view>

namespace occbench {

/// Escapes the characters in tools/occbench_tools/unprintable.txt as "\x1b" or "\u202e", replaces special
/// spaces by a blank, and escapes bytes that are not UTF-8 as "\xff". The Python tools do the same.
[[nodiscard]] std::string printable(std::string_view text);

/// Whether it is UTF-8 (RFC 3629) without zero bytes.
[[nodiscard]] bool is_text(std::string_view text);

/// Whether it has terminal control or bidirectional characters.
[[nodiscard]] bool has_control_characters(std::string_view text);

}  // namespace occbench
