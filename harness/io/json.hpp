// SPDX-License-Identifier: Apache-2.0
// Parses untrusted JSON with limits.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace occbench {

/// Maximum nesting: parser and writer recurse per level.
constexpr int json_depth_limit = 64;

/// The beginning of a file's text, short enough for a one-line message.
inline std::string excerpt(std::string text) {
  constexpr std::size_t max_length = 120;
  if (text.size() <= max_length) return text;
  std::size_t end = max_length;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // do not split a UTF-8 character
  return text.substr(0, end) + "...";
}

/// Throws std::invalid_argument. JSON has no zero bytes, and nlohmann's parser takes one for the end.
inline void refuse_zero_bytes(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw std::invalid_argument("is not JSON: holds zero bytes");
}

/// Throws std::invalid_argument with a one-line message, "is not JSON: REASON" or "is nested deeper than 64
/// levels".
inline nlohmann::json parse_json(std::string_view text, int depth_limit = json_depth_limit) {
  const auto shallow = [depth_limit](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    const bool opens = event == nlohmann::json::parse_event_t::object_start ||
                       event == nlohmann::json::parse_event_t::array_start;
    if (opens && depth >= depth_limit)
      throw std::invalid_argument("is nested deeper than " + std::to_string(depth_limit) + " levels");
    return true;
  };
  refuse_zero_bytes(text);
  try {
    return nlohmann::json::parse(text, shallow);
  } catch (const nlohmann::json::exception& e) {
    const std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    throw std::invalid_argument("is not JSON: " + excerpt(std::string(what.substr(what.find("] ") + 2))));
  }
}

}  // namespace occbench
