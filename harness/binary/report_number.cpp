// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/report_number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace occbench::binary {
namespace {

/// A number without blanks and apostrophes, and the positions of its marks.
struct Digits {
  std::string text;
  std::size_t points = 0, commas = 0;
  std::size_t last_mark = std::string::npos;
  bool was_grouped = false;  ///< by a blank or an apostrophe

  [[nodiscard]] char mark() const { return text[last_mark]; }
  [[nodiscard]] std::size_t decimals() const { return text.size() - last_mark - 1; }
};

/// nullopt if there are other characters than digits, marks and a sign.
std::optional<Digits> digits_of(std::string_view text) {
  constexpr std::string_view groups[] = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89", "\xE2\x80\x99", "'",
                                         " "};
  Digits digits;
  while (!text.empty()) {
    const auto* const group =
        std::ranges::find_if(groups, [&](std::string_view g) { return text.starts_with(g); });
    if (group != std::end(groups)) {
      digits.was_grouped |= !digits.text.empty();
      text.remove_prefix(group->size());
      continue;
    }
    const char c = text.front();
    if (c == '.' || c == ',') {
      digits.last_mark = digits.text.size();
      ++(c == '.' ? digits.points : digits.commas);
    } else if ((c < '0' || c > '9') && !(c == '-' && digits.text.empty())) {
      return std::nullopt;
    }
    digits.text += c;
    text.remove_prefix(1);
  }
  constexpr std::size_t longest = 40;
  if (digits.text.empty() || digits.text.size() > longest) return std::nullopt;
  return digits;
}

enum class Mark { none, decimal, group, open };

/// The meaning of a number's last mark, judged by this number only.
Mark last_mark(const Digits& digits) {
  if (digits.last_mark == std::string::npos) return Mark::none;
  if (digits.points > 0 && digits.commas > 0)
    return (digits.mark() == '.' ? digits.points : digits.commas) == 1 ? Mark::decimal : Mark::group;
  if (digits.points + digits.commas > 1) return Mark::group;
  constexpr std::size_t group = 3;
  const bool can_group = digits.decimals() == group && digits.last_mark >= 1 && digits.last_mark <= group &&
                         digits.text.front() != '0' && !digits.was_grouped;
  return can_group ? Mark::open : Mark::decimal;
}

double scale_of(std::string_view unit) {
  struct Scale {
    std::string_view unit;
    double factor;
  };
  static constexpr Scale scales[] = {{"Kbyte", 1e3}, {"Mbyte", 1e6},  {"KB", 1e3},      {"kB", 1e3},
                                     {"MB", 1e6},    {"KiB", 1024},   {"MiB", 1 << 20}, {"nsecond", 1e-3},
                                     {"ns", 1e-3},   {"nsec", 1e-3},  {"msecond", 1e3}, {"ms", 1e3},
                                     {"msec", 1e3},  {"second", 1e6}, {"s", 1e6},       {"sec", 1e6}};
  const auto* const found = std::ranges::find(scales, unit.substr(0, unit.find('/')), &Scale::unit);
  return found == std::end(scales) ? 1 : found->factor;
}

}  // namespace

void NumberStyle::observe(std::string_view text) {
  const auto digits = digits_of(text);
  if (!digits) return;
  const Mark mark = last_mark(*digits);
  if (mark == Mark::none || mark == Mark::open) return;
  ++((digits->mark() == ',') == (mark == Mark::decimal) ? comma_votes_ : point_votes_);
}

std::optional<ReportNumber> read_number(std::string_view text, std::string_view unit, char decimal_mark,
                                        bool is_count) {
  auto digits = digits_of(text);
  if (!digits) return std::nullopt;
  const double scale = scale_of(unit);
  Mark mark = last_mark(*digits);
  if (mark == Mark::open)
    mark = (is_count && scale == 1) || digits->mark() != decimal_mark ? Mark::group : Mark::decimal;
  const std::size_t decimals = mark == Mark::decimal ? digits->decimals() : 0;
  if (mark == Mark::decimal) digits->text[digits->last_mark] = 'd';
  std::erase_if(digits->text, [](char c) { return c == '.' || c == ','; });
  std::ranges::replace(digits->text, 'd', '.');
  double value = 0;
  const char* const last = digits->text.data() + digits->text.size();
  const auto [end, error] = std::from_chars(digits->text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  // A whole number in its base unit is exact. If scaled, ncu ("Kbyte") always prints two decimals unless it
  // is whole: 32 Kbyte are 32,000 B.
  const bool is_exact = scale <= 1 || (decimals == 0 && unit.find("byte") != std::string_view::npos);
  const double half = !is_exact ? 0.5 * std::pow(10.0, -static_cast<double>(decimals)) * scale : 0;
  value *= scale;
  return ReportNumber{value, value - half, value + half};
}

}  // namespace occbench::binary
