// SPDX-License-Identifier: Apache-2.0
// Demangles C++ names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace occbench {

/// Demangles "_Z...". Returns other names unchanged, as well as names that would expand excessively:
/// substitutions can double the length with every 10 characters.
[[nodiscard]] std::string demangle(const std::string& name);

/// An upper bound of the demangled length of "_Z...", if known.
[[nodiscard]] std::optional<std::uint64_t> max_demangled_size(std::string_view mangled);

}  // namespace occbench
