// SPDX-License-Identifier: Apache-2.0
// JSON that somebody sent: bounded before it is believed.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace occbench {

/// Levels of objects and arrays in each other. What reads or writes JSON calls itself at each of them.
constexpr int json_depth_limit = 64;

/// What a message of one line has room for, of what a file says: its beginning.
inline std::string excerpt(std::string text) {
  constexpr std::size_t room = 120;
  if (text.size() <= room) return text;
  std::size_t end = room;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not within a character of UTF-8
  return text.substr(0, end) + "...";
}

/// Throws std::invalid_argument with one line, "is not JSON: why" or "is nested deeper than 64 levels".
inline nlohmann::json parse_json(std::string_view text, int depth_limit = json_depth_limit) {
  const auto shallow = [depth_limit](int depth, nlohmann::json::parse_event_t event, nlohmann::json&) {
    const bool opens = event == nlohmann::json::parse_event_t::object_start ||
                       event == nlohmann::json::parse_event_t::array_start;
    if (opens && depth >= depth_limit)
      throw std::invalid_argument("is nested deeper than " + std::to_string(depth_limit) + " levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, shallow);
  } catch (const nlohmann::json::exception& e) {
    const std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    throw std::invalid_argument("is not JSON: " + excerpt(std::string(what.substr(what.find("] ") + 2))));
  }
}

}  // namespace occbench
