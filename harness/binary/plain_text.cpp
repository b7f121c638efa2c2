// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/plain_text.hpp"

#include <algorithm>
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

/// Of CSI (colours, GitLab's "ESC[0K"), OSC (links), which BEL or ESC \\ ends, or a character set at the
/// beginning. 0 of any other: names may hold one, and keep it.
std::size_t escape_length(std::string_view text) {
  constexpr std::size_t introducer = 2;
  const auto is_final = [](char c) { return c >= '@' && c <= '~'; };
  std::size_t end = text.npos;
  if (text.starts_with("\x1b["))
    end = static_cast<std::size_t>(std::ranges::find_if(text.substr(introducer), is_final) - text.begin());
  else if (text.starts_with("\x1b]"))
    end = text.find_first_of("\x07\x1b", introducer);
  else if (text.starts_with("\x1b(") || text.starts_with("\x1b)"))
    end = introducer;
  if (end >= text.size()) return 0;
  return std::min(end + (text[end] == '\x1b' ? 2 : 1), text.size());
}

std::string without_escapes(std::string_view line) {
  std::string kept;
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find('\x1b'), line.size());
    kept += line.substr(0, escape);
    line.remove_prefix(escape);
    const std::size_t length = escape_length(line);
    if (length == 0) kept += line.substr(0, 1);
    line.remove_prefix(std::min(std::max(length, std::size_t{1}), line.size()));
  }
  return kept;
}

/// The length of what has this shape at the beginning; 0 if it differs. In a shape, d is a digit and
/// * stands for digits and points.
std::size_t matched(std::string_view text, std::string_view shape) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t at = 0;
  for (const char c : shape) {
    if (c == '*') {
      while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) ++at;
    } else if (at < text.size() && (c == 'd' ? is_digit(text[at]) : text[at] == c)) {
      ++at;
    } else {
      return 0;
    }
  }
  return at;
}

/// Of a timestamp or a step.
std::size_t prefix_length(std::string_view text) {
  constexpr std::string_view shapes[] = {"dddd-dd-ddTdd:dd:dd*Z ddO ",
                                         "dddd-dd-ddTdd:dd:dd*Z ddE ",
                                         "dddd-dd-ddTdd:dd:dd*Z ddO+",
                                         "dddd-dd-ddTdd:dd:dd*Z ",
                                         "[dddd-dd-ddTdd:dd:dd*Z] ",
                                         "dd:dd:dd  ",
                                         "#d* d* "};
  for (const std::string_view shape : shapes)
    if (const std::size_t length = matched(text, shape); length > 0) return length;
  return 0;
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

std::string plain_line(std::string_view printed) {
  std::string line = without_escapes(printed);
  const std::string_view text = line;
  const std::size_t length = prefix_length(text);
  if (length > 0) return line.substr(length);
  // `gh run view --log` has job and step before it, each with a tab.
  const std::size_t job = text.find('\t');
  if (job == text.npos) return line;
  const std::size_t step = text.find('\t', job + 1);
  if (step == text.npos) return line;
  const std::size_t after_step = prefix_length(text.substr(step + 1));
  return after_step > 0 ? line.substr(step + 1 + after_step) : line;
}

}  // namespace occbench::binary
