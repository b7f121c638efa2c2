// SPDX-License-Identifier: Apache-2.0
// Demangles C++ names.
#pragma once

#include <string>

namespace occbench {

/// Demangles "_Z...". Returns other names unchanged, and also names that would expand excessively:
/// substitutions can double the length with every 10 characters.
[[nodiscard]] std::string demangled(const std::string& name);

}  // namespace occbench
