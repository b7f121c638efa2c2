// SPDX-License-Identifier: Apache-2.0
// The programs that could not be attached to.
#pragma once

#include <filesystem>
#include <string>

namespace occbench::attach {

/// "2 processes were not attached to: /bin/su (setuid) x 2", the first programs by name; empty: none.
/// Throws UserError where the file cannot be read.
[[nodiscard]] std::string not_attached(const std::filesystem::path& path);

}  // namespace occbench::attach
