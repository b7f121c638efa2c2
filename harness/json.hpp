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

/// Throws std::invalid_argument with one line, "is not JSON: why" or "is nested deeper than 64 levels".
inline nlohmann::json parse_json(std::string_view text) {
  const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > json_depth_limit)
      throw std::invalid_argument("is nested deeper than " + std::to_string(json_depth_limit) + " levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, shallow);
  } catch (const nlohmann::json::exception& e) {
    const std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    throw std::invalid_argument("is not JSON: " + std::string(what.substr(what.find("] ") + 2)));
  }
}

}  // namespace occbench
