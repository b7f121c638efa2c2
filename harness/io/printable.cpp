// SPDX-License-Identifier: Apache-2.0
#include "harness/io/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "unprintable.hpp"  // written by the build from tools/occbench_tools/unprintable.txt

namespace occbench {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool is_valid = true;
};

/// The first character of a text, or its first byte if that is not UTF-8 (RFC 3629).
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const Character invalid{.code = lead, .bytes = 1, .is_valid = false};
  if (lead < 0x80) return {.code = lead};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return invalid;
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> min_code = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < min_code[bytes] || code > 0x10ffff || is_surrogate) return invalid;
  return {.code = code, .bytes = bytes};
}

std::string escape_of(std::uint32_t code) {
  char text[16];
  std::snprintf(text, sizeof text, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
  return text;
}

void for_each_character(std::string_view text, const auto& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const Character c = first_of(text.substr(at));
    visit(c, text.substr(at, c.bytes));
    at += c.bytes;
  }
}

}  // namespace

bool is_text(std::string_view text) {
  const auto is_plain = [](char c) { return c > 0; };
  if (std::ranges::all_of(text, is_plain)) return true;
  bool is_valid = true;
  for_each_character(text,
                     [&](const Character& c, std::string_view) { is_valid &= c.is_valid && c.code != 0; });
  return is_valid;
}

std::string printable(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for_each_character(text, [&](const Character& c, std::string_view as_it_is) {
    const auto* const range = std::ranges::lower_bound(unprintable, c.code, {}, &UnprintableRange::last);
    if (!c.is_valid)
      escaped += escape_of(c.code);
    else if (range == std::end(unprintable) || c.code < range->first)
      escaped += as_it_is;
    else
      escaped += range->is_space ? " " : escape_of(c.code);
  });
  return escaped;
}

bool has_control_characters(std::string_view text) {
  bool found = false;
  for_each_character(text, [&](const Character& c, std::string_view) {
    const std::uint32_t code = c.code;
    found |= !c.is_valid || code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
             (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
             (code >= 0x2066 && code <= 0x2069);
  });
  return found;
}

}  // namespace occbench
