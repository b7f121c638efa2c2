// SPDX-License-Identifier: Apache-2.0
// Members of a static library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

[[nodiscard]] bool is_archive(Bytes bytes);

/// Visits each member by its name. Returns why the rest could not be read; empty at the end.
[[nodiscard]] std::string for_each_member(Bytes archive,
                                          const std::function<void(std::string_view, Bytes)>& visit);

}  // namespace occbench::binary
