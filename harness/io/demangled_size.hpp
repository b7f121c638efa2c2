// SPDX-License-Identifier: Apache-2.0
// How long a C++ name becomes, from its mangled form alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace occbench {

/// An upper bound of the demangled length of "_Z..."; nullopt: none is known.
[[nodiscard]] std::optional<std::uint64_t> max_demangled_size(std::string_view mangled);

}  // namespace occbench
