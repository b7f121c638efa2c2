// SPDX-License-Identifier: Apache-2.0
// Text for people: times and rates with significant digits, lines that fit a terminal.
#pragma once

#include <cstddef>
#include <occbench/kinds.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/printable.hpp"

namespace occbench {

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

/// Three significant digits, without an exponent: "4.42", "65.7", "852", "28449".
std::string significant(double value);

/// A share: 0.915 -> "91.5 %".
std::string percent(double fraction);

/// "0.84 s", "8.4 s", "52 s", "4 min 12 s", "1 h 5 min".
std::string duration(double seconds);

/// "4.42 TB/s", "65.7 TFLOP/s", "852 GB/s".
std::string format_throughput(double per_second, Ceiling ceiling);

/// The rate that a ceiling bounds: "DRAM bandwidth", "FP32 throughput".
std::string_view rate_under(Ceiling ceiling);

/// "1 case", "2,394 cases".
std::string count_of(std::size_t number, const std::string& noun);

/// "a, b, c and 3 more": the first `most` names.
std::string join_first(const std::vector<std::string>& names, std::size_t most);

/// One word for a shell, in single quotes.
std::string shell_quote(std::string_view word);

/// At most `room` characters; a longer line ends with "...".
std::string clip(const std::string& line, std::size_t room);

/// Lines of at most `room` characters, broken at blanks but not between a number and its unit. A longer word
/// has its own line; the line number `most` has all the rest.
std::vector<std::string> wrap(const std::string& words, std::size_t room, std::size_t most);

/// The same, with longer lines clipped.
std::vector<std::string> wrap_and_clip(const std::string& words, std::size_t room, std::size_t most);

}  // namespace occbench
