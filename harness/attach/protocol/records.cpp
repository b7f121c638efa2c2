// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/protocol/records.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace occbench::attach {

Fields fields_of(std::string_view line) {
  Fields fields{""};
  for (const char c : line)
    if (c == '\t')
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

void append_field(std::string& line, std::string_view text, std::size_t max_bytes) {
  line += '\t';
  for (const char c : text.substr(0, max_bytes)) line += c == '\t' || c == '\n' ? ' ' : c;
}

std::int64_t integer_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < -1)
    throw std::invalid_argument("'" + text.substr(0, 40) + "' is not a number");
  return value;
}

double real_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0')
    throw std::invalid_argument("'" + text.substr(0, 40) + "' is not a number");
  return value;
}

}  // namespace occbench::attach
