// SPDX-License-Identifier: Apache-2.0
// Text as shells and CI logs store it, made that of the tool that printed it.
#pragma once

#include <string>
#include <string_view>

namespace occbench::binary {

/// Converts UTF-16, which PowerShell's `>` writes, to UTF-8, part by part.
class Utf16 {
 public:
  enum class Order { little_endian, big_endian };
  explicit Utf16(Order order) : order_(order) {}

  /// What is known so far; half a character waits for the next part. A lone surrogate becomes '?'.
  [[nodiscard]] std::string decode(std::string_view bytes);

 private:
  Order order_;
  std::string rest_;    ///< the first byte of a unit
  char32_t first_ = 0;  ///< the first unit of a pair, or 0
};

/// The line without colours and links of a terminal, HTML entities, typographic quotes and blanks at its end.
[[nodiscard]] std::string plain_line(std::string_view printed);

}  // namespace occbench::binary
