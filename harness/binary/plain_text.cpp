// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/plain_text.hpp"

#include <re2/re2.h>

#include <cstddef>

namespace occbench::binary {
namespace {

constexpr char32_t first_of_pair = 0xD800, second_of_pair = 0xDC00, after_pairs = 0xE000;

void append_utf8(std::string& text, char32_t c) {
  const auto byte = [&](char32_t value) { text += static_cast<char>(value); };
  const auto rest = [&](int shift) { byte(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6), rest(0);
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12), rest(6), rest(0);
  } else {
    byte(0xF0 | c >> 18), rest(12), rest(6), rest(0);
  }
}

}  // namespace

std::string Utf16::decode(std::string_view bytes) {
  std::string text;
  rest_ += bytes;
  std::size_t at = 0;
  for (; at + 2 <= rest_.size(); at += 2) {
    const bool is_little = order_ == Order::little_endian;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest_[at + i]); };
    const char32_t unit = byte(is_little ? 1 : 0) << 8U | byte(is_little ? 0 : 1);
    const bool is_second = unit >= second_of_pair && unit < after_pairs;
    if (first_ != 0 && is_second) {
      constexpr char32_t beyond_units = 0x10000;
      append_utf8(text, beyond_units + ((first_ - first_of_pair) << 10) + (unit - second_of_pair));
    } else if (first_ != 0 || is_second) {
      text += '?';
    }
    first_ = 0;
    if (is_second) continue;
    if (unit >= first_of_pair && unit < second_of_pair)
      first_ = unit;
    else
      append_utf8(text, unit);
  }
  rest_.erase(0, at);
  return text;
}

std::string plain_line(std::string line) {
  // CSI (colours, GitLab's "ESC[0K") and OSC (links), which BEL or ESC \ ends.
  static const RE2 escape(
      "\x1b"
      R"((?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)))",
      RE2::Latin1);
  static const RE2 prefix(R"(^(?:[^\t]*\t[^\t]*\t)?)"  // `gh run view --log`: job and step
                          R"((?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z (?:\d\d[OE][ +])?|)"
                          R"(\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z\] |\d\d:\d\d:\d\d  ?|#\d+ \d+\.\d+ ))",
                          RE2::Latin1);
  if (line.find('\x1b') != std::string::npos) RE2::GlobalReplace(&line, escape, "");
  RE2::Replace(&line, prefix, "");
  return line;
}

}  // namespace occbench::binary
