// SPDX-License-Identifier: Apache-2.0
// RE2's calls that the readers of text use, on std::regex: RE2 itself is not built for WebAssembly.
#pragma once

#include <charconv>
#include <regex>
#include <string>
#include <system_error>

class RE2 {
 public:
  enum CannedOptions { DefaultOptions, Latin1 };

  RE2(const char* pattern, CannedOptions = DefaultOptions)
      : expression_(pattern, std::regex::ECMAScript | std::regex::optimize) {}

  /// Whether the pattern is found in `text` and each group is a value of its target's type.
  template <class... Targets>
  static bool PartialMatch(const std::string& text, const RE2& pattern, Targets*... targets) {
    std::smatch match;
    if (!std::regex_search(text, match, pattern.expression_)) return false;
    std::size_t group = 0;
    return (set(match[++group], *targets) && ...);
  }

 private:
  static bool set(const std::ssub_match& part, std::string& target) {
    target = part.str();
    return true;
  }
  template <class Number>
  static bool set(const std::ssub_match& part, Number& target) {
    const std::string text = part.str();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target);
    return error == std::errc() && end == text.data() + text.size();
  }

  std::regex expression_;
};
