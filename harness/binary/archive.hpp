// SPDX-License-Identifier: Apache-2.0
// Members of a static library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/binary/byte_source.hpp"

namespace occbench::binary {

/// Checks the first bytes.
[[nodiscard]] bool is_archive(Bytes begin);

/// Calls `visit` with the name and content of each member. Returns an error if the rest cannot be read, or
/// an empty string.
[[nodiscard]] std::string for_each_member(
    const ByteSource& archive, const std::function<void(std::string_view, const ByteSource&)>& visit);

}  // namespace occbench::binary
