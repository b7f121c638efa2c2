// SPDX-License-Identifier: Apache-2.0
// Figures and lines for people: times and rates with the digits that mean something, text that fits a
// terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/kernel.hpp"
#include "harness/io/printable.hpp"

namespace occbench {

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

/// Three significant digits, without an exponent: "4.42", "65.7", "852", "28449".
std::string significant(double value);

/// "0.84 s", "8.4 s", "52 s", "4 min 12 s", "1 h 5 min".
std::string duration(double seconds);

/// "4.42 TB/s", "65.7 TFLOP/s", "852 GB/s".
std::string format_throughput(double per_second, Ceiling ceiling);

/// What a ceiling bounds: "DRAM bandwidth", "FP32 throughput".
std::string_view rate_under(Ceiling ceiling);

/// A step along an experiment's dial: "31 -> 33 registers".
std::string step_of(const std::string& dial, double from, double to);

/// One of a kind and many: "1 case", "2,394 cases".
std::string count_of(std::size_t number, const std::string& noun);

/// One word for a shell, whatever is in it: between single quotes.
std::string shell_quoted(std::string_view word);

/// How wide the terminal is that this descriptor leads to; nullopt of a file or a pipe.
std::optional<std::size_t> terminal_columns(int descriptor);

/// At most `room` characters of it: its end is cut off, and "..." says so.
std::string clipped(const std::string& line, std::size_t room);

/// Broken at blanks, but not between a figure and its unit, into lines of at most `room` characters. A longer
/// word has a line of its own; what is left over after `most` lines stands on the last.
std::vector<std::string> broken(const std::string& words, std::size_t room, std::size_t most);

/// The same with what is longer than `room` clipped.
std::vector<std::string> wrapped(const std::string& words, std::size_t room, std::size_t most);

}  // namespace occbench
