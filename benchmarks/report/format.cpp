// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <sstream>

#include "benchmarks/framework/numbers.hpp"
#include "harness/device/kernel.hpp"

namespace occbench {

std::string text(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::va_list again;
  va_copy(again, values);
  std::string line(static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, values))), '\0');
  va_end(values);
  std::vsnprintf(line.data(), line.size() + 1, format, again);
  va_end(again);
  return line;
}

std::string significant(double value) {
  const double size = std::abs(value);
  return text("%.*f", size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, value);
}

std::string percent(double fraction) { return text("%.1f %%", 100 * fraction); }

std::string duration(double seconds) {
  if (seconds < 0.995) return text("%.2f s", seconds);
  if (seconds < 9.95) return text("%.1f s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 60) return text("%lld s", whole);
  if (whole < 3600) return text("%lld min %lld s", whole / 60, whole % 60);
  return text("%lld h %lld min", whole / 3600, whole % 3600 / 60);
}

std::string format_throughput(double per_second, Ceiling ceiling) {
  static constexpr std::array prefixes{"", "k", "M", "G", "T", "P"};
  static constexpr std::array units{"B/s", "FLOP/s", "operations/s"};
  std::size_t thousands = 0;
  while (per_second >= 999.5 && thousands + 1 < prefixes.size()) {
    per_second /= 1000;
    ++thousands;
  }
  const Unit unit = unit_of(ceiling);
  return significant(per_second) + " " + prefixes[thousands] + (unit == Unit::operation ? " " : "") +
         units[static_cast<std::size_t>(unit)];
}

std::string_view rate_under(Ceiling ceiling) {
  switch (ceiling) {
    case Ceiling::dram:
      return "DRAM bandwidth";
    case Ceiling::l1:
      return "L1 bandwidth";
    case Ceiling::shared_memory:
      return "shared-memory bandwidth";
    case Ceiling::fp32:
      return "FP32 throughput";
    case Ceiling::fp64:
      return "FP64 throughput";
    case Ceiling::tensor_bf16:
      return "tensor-core throughput";
    case Ceiling::issue:
      return "issue rate";
    case Ceiling::none:
      break;
  }
  return "throughput";
}

std::string count_of(std::size_t number, const std::string& noun) {
  return commands::with_thousands(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string join_first(const std::vector<std::string>& names, std::size_t most) {
  std::string line;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) line += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) line += " and " + commands::with_thousands(names.size() - most) + " more";
  return line;
}

std::string shell_quote(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string clip(const std::string& line, std::size_t room) {
  return line.size() <= room ? line : line.substr(0, room - std::min<std::size_t>(room, 3)) + "...";
}

std::vector<std::string> wrap(const std::string& words, std::size_t room, std::size_t most) {
  std::vector<std::string> pieces;
  std::istringstream in(words);
  bool keeps_next = false;  // a number stays with its unit
  bool was_number = false;
  for (std::string word; in >> word;) {
    const bool is_figure = word.find_first_not_of("(+-0123456789.,>") == std::string::npos;
    const bool is_number = is_figure && word.find_first_of("0123456789") != std::string::npos;
    if (keeps_next && !(was_number && is_number))  // a list of numbers may break anywhere
      pieces.back() += " " + word;
    else
      pieces.push_back(word);
    keeps_next = is_figure;
    was_number = is_number;
  }
  std::vector<std::string> lines{""};
  for (const std::string& piece : pieces) {
    std::string& line = lines.back();
    if (line.empty() || line.size() + 1 + piece.size() <= room || lines.size() == most)
      line += (line.empty() ? "" : " ") + piece;
    else
      lines.push_back(piece);
  }
  return lines;
}

std::vector<std::string> wrap_and_clip(const std::string& words, std::size_t room, std::size_t most) {
  std::vector<std::string> lines = wrap(words, room, most);
  for (std::string& line : lines) line = clip(line, room);
  return lines;
}

}  // namespace occbench
