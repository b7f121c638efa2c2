// SPDX-License-Identifier: Apache-2.0
// Members of a static library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/binary/byte_source.hpp"

namespace occbench::binary {

/// By the first bytes of it.
[[nodiscard]] bool is_archive(Bytes begin);

/// Visits each member by its name. Returns why the rest could not be read; empty at the end.
[[nodiscard]] std::string for_each_member(
    const ByteSource& archive, const std::function<void(std::string_view, const ByteSource&)>& visit);

}  // namespace occbench::binary
