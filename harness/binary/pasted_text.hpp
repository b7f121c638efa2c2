// SPDX-License-Identifier: Apache-2.0
// A tool's output as people paste it: quoted, indented, after a log's timestamps, wrapped by a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace occbench::binary {

/// The prefix of each line, such as a timestamp, a rank, a line number or '>': the text before words that
/// only a tool prints.
class LinePrefixes {
 public:
  /// Learns the prefix of a line, if any. All lines are observed in order before any is read.
  void observe(std::string_view line);
  /// The line without its prefix, if it has one.
  [[nodiscard]] std::string_view strip(std::string_view line) const;

 private:
  std::vector<std::string> shapes_;  ///< '\1': digits; ' ': any number of blanks
  std::int64_t last_number_ = 0;     ///< number at the start of the previous line
};

/// Calls read(line) for the lines of a text, without prefixes, colours and HTML entities. Joins lines that a
/// terminal or an e-mail has wrapped, if their form shows it.
void each_pasted_line(const std::string& text, const std::function<void(const std::string&)>& read);

}  // namespace occbench::binary
