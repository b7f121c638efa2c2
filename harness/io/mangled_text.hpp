// SPDX-License-Identifier: Apache-2.0
// A mangled C++ name as it is read from left to right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace occbench {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// Once given up, it shows and takes nothing more.
class MangledText {
 public:
  explicit MangledText(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is_known() const { return is_known_; }
  void give_up() { is_known_ = false; }

  [[nodiscard]] std::size_t length() const { return text_.size(); }
  [[nodiscard]] std::size_t remaining() const { return text_.size() - at_; }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return is_known_ && ahead < remaining() ? text_[at_ + ahead] : '\0';
  }
  /// The characters that were read last.
  [[nodiscard]] std::string_view behind(std::size_t count) const { return text_.substr(at_ - count, count); }

  void skip(std::size_t count = 1) { at_ += std::min(count, remaining()); }
  void skip_digits() {
    while (is_digit(peek())) skip();
  }
  bool take(std::string_view expected) {
    if (!is_known_ || !text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  void expect(std::string_view expected) {
    if (!take(expected)) give_up();
  }
  /// Stops where the number exceeds the length of the text.
  std::size_t number() {
    std::size_t value = 0;
    while (is_digit(peek()) && value < length())
      value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    return value;
  }
  /// Which part a substitution refers to: "" is 0, "0" is 1, "Z" is 36. Capped at the length of the text.
  std::size_t sequence_id() {
    constexpr std::size_t base = 36;
    if (peek() == '_') return 0;
    std::size_t id = 0;
    while (is_digit(peek()) || is_upper(peek())) {
      const char c = text_[at_++];
      id = std::min(id * base + static_cast<std::size_t>(is_digit(c) ? c - '0' : c - 'A' + 10), length());
    }
    return id + 1;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool is_known_ = true;
};

}  // namespace occbench
