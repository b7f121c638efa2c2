// SPDX-License-Identifier: Apache-2.0
// Numbers as users write them: 256, 32K, 48KiB, 1M, 0xc000.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace occbench::commands {

/// A whole number with an optional binary suffix: K, KB or KiB is 1024; M and G likewise; B is 1; case does
/// not matter. Throws std::invalid_argument with one line naming `what` unless it lies in [least, most].
inline std::int64_t parse_size(std::string_view text, std::string_view what, std::int64_t least = 0,
                               std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const auto fail = [&](const std::string& why) -> std::int64_t {
    throw std::invalid_argument(std::string(what) + " '" + std::string(text) + "' " + why);
  };
  constexpr std::string_view blanks = " \t";
  std::string_view rest = text.substr(std::min(text.find_first_not_of(blanks), text.size()));
  rest = rest.substr(0, rest.find_last_not_of(blanks) + 1);

  std::int64_t number = 0;
  const bool is_hex = rest.starts_with("0x") || rest.starts_with("0X");  // as ptxas prints bytes
  if (is_hex) rest.remove_prefix(2);
  if (is_hex && rest.starts_with('-')) return fail("is not a whole number (write 256, 32K, 48KiB or 1M)");
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, is_hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) return fail("is too large");
  if (error != std::errc()) return fail("is not a whole number (write 256, 32K, 48KiB or 1M)");

  std::string unit;
  for (const char c : rest.substr(static_cast<std::size_t>(end - rest.data())))
    unit += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  int shift = 0;
  if (unit == "K" || unit == "KB" || unit == "KIB") {
    shift = 10;
  } else if (unit == "M" || unit == "MB" || unit == "MIB") {
    shift = 20;
  } else if (unit == "G" || unit == "GB" || unit == "GIB") {
    shift = 30;
  } else if (!unit.empty() && unit != "B") {
    return fail("is not a whole number (write 256, 32K, 48KiB or 1M)");
  }
  if (number > (std::numeric_limits<std::int64_t>::max() >> shift)) return fail("is too large");
  if (number < (std::numeric_limits<std::int64_t>::min() >> shift)) return fail("is too small");
  number *= std::int64_t{1} << shift;
  if (number < least) return fail(least == 0 ? "is negative" : "is less than " + std::to_string(least));
  if (number > most) return fail("is too large (at most " + std::to_string(most) + ")");
  return number;
}

/// 79872 -> "79,872".
inline std::string with_thousands(std::integral auto number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (number < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

/// Without the noise below what clocks and profilers resolve: 0.1 + 0.2 is 0.30000000000000004.
inline double to_picoseconds(double seconds) { return std::round(seconds * 1e12) / 1e12; }
/// The same of microseconds.
inline double us_to_picoseconds(double us) { return std::round(us * 1e6) / 1e6; }

/// The shortest decimal that reads back as the same double: 0.75, 0.984375.
inline std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace occbench::commands
