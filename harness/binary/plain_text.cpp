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

/// Length of an escape sequence: CSI (colours, GitLab's "ESC[0K"), OSC (links, ended by BEL or ESC \\), or a
/// character set at the beginning. 0 for others, which stay: names may contain them.
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
  std::string plain;
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find('\x1b'), line.size());
    plain += line.substr(0, escape);
    line.remove_prefix(escape);
    const std::size_t length = escape_length(line);
    if (length == 0) plain += line.substr(0, 1);
    line.remove_prefix(std::min(std::max(length, std::size_t{1}), line.size()));
  }
  return plain;
}

/// Characters that browsers, chats and office programs substitute for the tool's.
struct Replacement {
  std::string_view written, meant;
};
constexpr Replacement replacements[] = {{"&lt;", "<"},         {"&gt;", ">"},          {"&quot;", "\""},
                                        {"&#34;", "\""},       {"&#39;", "'"},         {"&#x27;", "'"},
                                        {"&amp;", "&"},        {"&nbsp;", " "},        {"\xE2\x80\x98", "'"},
                                        {"\xE2\x80\x99", "'"}, {"\xE2\x80\x9C", "\""}, {"\xE2\x80\x9D", "\""},
                                        {"\xC2\xA0", " "}};

/// Whether a blank at the start of `rest` is between digits and so part of a number.
bool groups_digits(std::string_view before, std::string_view rest) {
  constexpr std::string_view no_break = "\xC2\xA0";
  const auto is_digit = [](std::string_view text, std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  return rest.starts_with(no_break) && is_digit(before, before.size() - 1) && is_digit(rest, no_break.size());
}

std::string with_plain_characters(std::string text) {
  if (text.find_first_of("&\xC2\xE2") == std::string::npos) return text;
  std::string plain;
  for (std::string_view rest = text; !rest.empty();) {
    const auto* const found =
        std::ranges::find_if(replacements, [&](const Replacement& r) { return rest.starts_with(r.written); });
    const bool is_replaced = found != std::end(replacements) && !groups_digits(plain, rest);
    plain += is_replaced ? found->meant : rest.substr(0, 1);
    rest.remove_prefix(is_replaced ? found->written.size() : 1);
  }
  return plain;
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
  std::string line = with_plain_characters(without_escapes(printed));
  line.erase(line.find_last_not_of(" \t") + 1);
  return line;
}

}  // namespace occbench::binary
