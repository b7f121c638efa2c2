// SPDX-License-Identifier: Apache-2.0
// Restores the original text of a tool from what shells and CI logs store.
#pragma once

#include <string>
#include <string_view>

namespace occbench::binary {

/// Converts UTF-16 (PowerShell's `>`) to UTF-8, part by part.
class Utf16 {
 public:
  enum class Order { little_endian, big_endian };
  explicit Utf16(Order order) : order_(order) {}

  /// The complete characters so far; half a character waits for the next part. Lone surrogates become '?'.
  [[nodiscard]] std::string decode(std::string_view bytes);

 private:
  Order order_;
  std::string rest_;    ///< the first byte of a unit
  char32_t first_ = 0;  ///< the first unit of a pair, or 0
};

/// The line without terminal colours and links, HTML entities, typographic quotes and trailing blanks.
[[nodiscard]] std::string plain_line(std::string_view printed);

}  // namespace occbench::binary
