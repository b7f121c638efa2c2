// SPDX-License-Identifier: Apache-2.0
// Reads and writes CSV (RFC 4180).
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace occbench::csv {

using Row = std::vector<std::string>;

/// One record with its newline (LF), fields quoted where needed.
[[nodiscard]] std::string format(const Row& row);

/// The next record of a stream (quoted fields may span lines; CRLF and LF both end a record; a UTF-8
/// byte-order mark is dropped at the start). nullopt at the end. `complete` is false when the stream ended
/// inside a record without its newline or inside quotes: a row cut off by a crash.
struct Record {
  Row fields;
  bool complete = true;
};
[[nodiscard]] std::optional<Record> read(std::istream& in);
/// The record of one line without its newline. `complete` is false if it ends inside quotes.
[[nodiscard]] Record parse(std::string_view line, char separator = ',');

/// A cell that is safe in a spreadsheet: printable, with an apostrophe before text that would be a formula
/// (OWASP, 'CSV Injection'). Numbers are unchanged.
[[nodiscard]] std::string no_formula(const std::string& cell);

}  // namespace occbench::csv
