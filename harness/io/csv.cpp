// SPDX-License-Identifier: Apache-2.0
#include "harness/io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "harness/io/printable.hpp"

namespace occbench::csv {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool needs_quotes(std::string_view field) {
  // Quoted, since a reader drops an unquoted leading byte-order mark.
  return field.find_first_of(",\"\r\n") != field.npos || field.starts_with(byte_order_mark);
}

}  // namespace

std::string format(const Row& row) {
  std::string line;
  for (const std::string& field : row) {
    if (&field != row.data()) line += ',';
    if (!needs_quotes(field)) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) line.append(c == '"' ? 2 : 1, c);
    line += '"';
  }
  return line += '\n';
}

namespace {

/// Parses a record character by character (RFC 4180).
class Reader {
 public:
  explicit Reader(char separator = ',') : separator_(separator) {}

  /// `next` is the character behind `c`, or -1. True when `c` ended the record.
  bool take(char c, int next) {
    if (escaped_ || (c == '\r' && next == '\n' && !in_quotes_)) {  // the second of "" or the first of CRLF
      escaped_ = false;
      return false;
    }
    if (in_quotes_) {
      if (c != '"') {
        field_ += c;
      } else if (next == '"') {
        field_ += c;
        escaped_ = true;
      } else {
        in_quotes_ = false;
      }
    } else if (c == '"' && !was_quoted_ &&
               (field_.empty() || (record_.fields.empty() && field_ == byte_order_mark))) {
      field_.clear();
      in_quotes_ = was_quoted_ = true;
    } else if (c == separator_) {
      end_field();
    } else if (c == '\n') {
      return true;
    } else {
      field_ += c;  // a quote or a lone CR in an unquoted field is literal
    }
    return false;
  }
  [[nodiscard]] bool in_quotes() const { return in_quotes_; }
  Record end(bool complete) {
    end_field();
    record_.complete = complete;
    return std::move(record_);
  }

 private:
  void end_field() {
    const bool marked = record_.fields.empty() && !was_quoted_ && field_.starts_with(byte_order_mark);
    record_.fields.push_back(marked ? field_.substr(byte_order_mark.size()) : std::move(field_));
    field_.clear();
    was_quoted_ = false;
  }

  char separator_;
  Record record_;
  std::string field_;
  bool in_quotes_ = false, was_quoted_ = false, escaped_ = false;
};

}  // namespace

std::optional<Record> read(std::istream& in) {
  if (in.peek() == std::istream::traits_type::eof()) return std::nullopt;
  Reader reader;
  for (char c; in.get(c);)
    if (reader.take(c, in.peek())) return reader.end(true);
  return reader.end(false);
}

Record parse(std::string_view line, char separator) {
  Reader reader(separator);
  for (std::size_t n = 0; n < line.size(); ++n)
    reader.take(line[n], n + 1 < line.size() ? static_cast<unsigned char>(line[n + 1]) : -1);
  return reader.end(!reader.in_quotes());
}

std::string no_formula(const std::string& cell) {
  // The last four are wide: U+FF1D, U+FF0B, U+FF0D and U+FF20.
  static constexpr std::string_view begins[] = {"=",  "+",      "-",      "@",      "\t",    "\r",
                                                "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  if (std::ranges::none_of(begins, [&](std::string_view begin) { return cell.starts_with(begin); }))
    return printable(cell);
  double number = 0;
  const char* const first = cell.data() + (cell[0] == '+' ? 1 : 0);
  const char* const last = cell.data() + cell.size();
  if (const auto [end, error] = std::from_chars(first, last, number); error == std::errc() && end == last)
    return cell;
  return "'" + printable(cell);
}

}  // namespace occbench::csv
