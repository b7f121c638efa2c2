// SPDX-License-Identifier: Apache-2.0
#include "harness/csv.hpp"

#include <utility>

namespace occbench::csv {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool needs_quotes(std::string_view field) {
  // A leading byte-order mark would be dropped by the reader, were it not quoted.
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

std::optional<Record> read(std::istream& in) {
  if (in.peek() == std::istream::traits_type::eof()) return std::nullopt;
  Record record{.fields = {}, .complete = false};
  std::string field;
  bool in_quotes = false;
  bool was_quoted = false;
  const auto end_field = [&] {
    const bool marked = record.fields.empty() && !was_quoted && field.starts_with(byte_order_mark);
    record.fields.push_back(marked ? field.substr(byte_order_mark.size()) : std::move(field));
    field.clear();
    was_quoted = false;
  };
  for (char c; in.get(c);) {
    if (in_quotes) {
      if (c != '"') {
        field += c;
      } else if (in.peek() == '"') {
        field += static_cast<char>(in.get());
      } else {
        in_quotes = false;
      }
    } else if (c == '"' && !was_quoted &&
               (field.empty() || (record.fields.empty() && field == byte_order_mark))) {
      field.clear();
      in_quotes = was_quoted = true;
    } else if (c == ',') {
      end_field();
    } else if (c == '\n' || (c == '\r' && in.peek() == '\n')) {
      if (c == '\r') in.get();
      record.complete = true;
      break;
    } else {
      field += c;  // a quote or a lone CR inside an unquoted field stands for itself
    }
  }
  end_field();
  return record;
}

}  // namespace occbench::csv
