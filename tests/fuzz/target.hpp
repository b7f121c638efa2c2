// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: each defines LLVMFuzzerTestOneInput, which returns on any input or ends the
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace occbench::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A fuzzer knows crashes alone: what must hold of every input becomes one where it does not.
inline void expect(bool holds, const char* what,
                   std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: not so: %s\n", where.file_name(), static_cast<unsigned>(where.line()), what);
  std::abort();
}

}  // namespace occbench::fuzz
