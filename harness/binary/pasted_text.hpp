// SPDX-License-Identifier: Apache-2.0
// Text of a tool as people paste it: quoted, indented, behind a log's timestamps, wrapped by a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace occbench::binary {

/// What stands before each line of a tool's output, such as a timestamp, a rank, a line number or '>'.
/// It is what precedes those words of a line that only a tool prints.
class LinePrefixes {
 public:
  /// Learns the prefix of a line, if it has one. All lines are observed in order, before any is read.
  void observe(std::string_view line);
  /// The line without its prefix; unchanged if it has none.
  [[nodiscard]] std::string_view removed(std::string_view line) const;

 private:
  std::vector<std::string> shapes_;  ///< '\1' stands for digits and ' ' for any number of blanks
  std::int64_t last_number_ = 0;     ///< that the line before began with
};

/// Calls read(line) for the lines of a text, without prefixes, colours and HTML entities. A line that a
/// terminal or an e-mail has wrapped is put together if its form tells.
void each_pasted_line(const std::string& text, const std::function<void(const std::string&)>& read);

}  // namespace occbench::binary
