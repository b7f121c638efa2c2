// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/pasted_text.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "harness/binary/ncu_launch.hpp"
#include "harness/binary/plain_text.hpp"

namespace occbench::binary {
namespace {

constexpr std::string_view spaces = " \t";

constexpr char any_digits = '\1';  // in a shape

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// "2026-11-27 | " -> "#-#-# |", where # is any_digits
std::string shape_of(std::string_view prefix) {
  std::string shape;
  for (const char c : prefix.substr(0, prefix.find_last_not_of(spaces) + 1)) {
    const char kind = is_digit(c) ? any_digits : is_blank(c) ? ' ' : c;
    if ((kind != any_digits && kind != ' ') || !shape.ends_with(kind)) shape += kind;
  }
  return shape;
}

/// The length of the match of this shape at the start of a line; 0 if it does not match.
std::size_t match_length(std::string_view line, std::string_view shape) {
  std::size_t at = 0;
  const auto skip = [&](auto is_kind) {
    const std::size_t begin = at;
    while (at < line.size() && is_kind(line[at])) ++at;
    return at > begin;
  };
  for (const char c : shape) {
    if (c == ' ') {
      skip(is_blank);
    } else if (c == any_digits) {
      if (!skip(is_digit)) return 0;
    } else {
      if (at == line.size() || line[at] != c) return 0;
      ++at;
    }
  }
  return at;
}

/// Whether these are table cells rather than a line prefix.
bool is_cells(std::string_view shape) {
  return shape.ends_with(',') || shape.ends_with(';') || shape.ends_with("ID") ||
         std::ranges::count(shape, '|') > 1;
}

/// The number at the start of a line, or 0.
std::int64_t first_number(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
  std::int64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

/// Words at the start of a tool's lines, ignoring spaces. No table row has them inside.
// clang-format off
constexpr std::string_view first_words[] = {
    "\"ID\"", "\"Process ID\"", "\"Device\"", "\"Kernel Name\"",  // ncu's tables
    "ID,Process ID", "ID;Process ID", "ID\tProcess ID", "| ID |",
    "Process ID,Process Name", "Process ID;Process Name", "Process ID\tProcess Name", "| Process ID |",
    "Section: ", "Metric Name ", "Registers Per Thread ", "launch__registers_per_thread ",
    "Start (ns)", "\"Start\",", "Start,Duration,",
    "arch = sm_", "REG:", "ptxas info ", "nvlink info "};
// clang-format on

/// Whether a new line of a tool begins here, so that the previous line has ended.
bool begins_line(const std::string& line) {
  static const RE2 beginning(R"(\b(?:ptxas|nvlink) (?:info|error|warning|fatal)|bytes stack frame|)"
                             R"(^\s*Function |^\s*Fatbin |arch = sm_|)"
                             R"(REG:\d|^\s*Section: )",
                             RE2::Latin1);
  return RE2::PartialMatch(line, beginning);
}

/// A table row as marked by Markdown and quotes.
std::string_view without_table_marks(std::string_view line) {
  constexpr std::string_view marks = " \t|>";
  line.remove_prefix(std::min(line.find_first_not_of(marks), line.size()));
  return line.substr(0, line.find_last_not_of(marks) + 1);
}

/// Whether a tool's line is incomplete.
bool is_cut(const std::string& line) {
  constexpr std::size_t longest = 1000;  // no terminal is wider
  if (line.size() > longest) return false;
  static const RE2 begun(
      R"(info\s*: (?:Compiling|[Uu]sed \d+|Function properties for$)|\d+ bytes stack frame|REG:\d|)"
      R"(error\s*: (?:[Ee]ntry function|Undefined reference)|)"
      R"(Formal parameter|for '[^']*$|\(C7508\)|)"
      R"(\(\d+, \d+, \d+\)x\(\d+|, Context \d+)",
      RE2::Latin1);
  static const RE2 ended(
      R"( for '\w+'$|bytes spill loads$| SAMPLER:\d+$|\bmax\)|with regcount of \d+|in function .|)"
      R"( in '.*'$|\.$|)"
      R"(, Stream \d+$|, CC \d+\.\d+|, CC \d+\.\d+, Invocations \d+$|)"
      R"(\b(?:registers|barriers|stack size|stack|[gls]mem|cmem\[\d+\]|textures|samplers|surfaces)$)",
      RE2::Latin1);
  return RE2::PartialMatch(line, begun) && !RE2::PartialMatch(line, ended);
}

/// How a text is wrapped: a terminal cuts all lines at one width, an e-mail program between words.
class WrappedWidth {
 public:
  /// `printed`: the line with its prefix.
  void observe(const std::string& line, std::string_view printed) {
    longest_ = std::max(longest_, printed.size());
    if (!is_cut(line)) return;
    is_one_ = is_one_ && (width_ == 0 || width_ == printed.size());
    width_ = printed.size();
  }
  [[nodiscard]] bool is_at_end_of(std::string_view printed) const {
    if (width_ > 0) return is_one_ && printed.size() == width_;
    return printed.size() == longest_ && !is_blank(printed.back());  // ncu's rules are padded with spaces
  }

 private:
  std::size_t width_ = 0, longest_ = 0;
  bool is_one_ = true;
};

/// Joins the parts of a wrapped line.
class Unwrapping {
 public:
  Unwrapping(const WrappedWidth& wrapped, const std::function<void(const std::string&)>& read)
      : wrapped_(wrapped), read_(read) {}

  /// `printed`: the line with its prefix.
  void add(std::string line, std::string_view printed) {
    constexpr int most_parts = 12;
    if (parts_ > 0 && parts_ < most_parts && continues(line)) {
      line_ += (is_word_cut(line) ? "" : " ") + line;
      ++parts_;
    } else {
      end();
      line_ = std::move(line);
      parts_ = 1;
    }
    is_full_ = wrapped_.is_at_end_of(printed);
  }
  void end() {
    // Shorter lines carry no information, and a text may have millions; but a quote begins a wrapped row.
    constexpr std::size_t shortest = 4;
    if (parts_ > 0 && (line_.size() >= shortest || line_.starts_with('"'))) read_(line_);
    parts_ = 0;
  }

 private:
  [[nodiscard]] bool continues(const std::string& next) const {
    static const RE2 report(R"(\b[Uu]sed \d+ registers|, Stream \d+$|, CC \d+\.\d+$)");
    static const RE2 name(R"(Function (?:properties for )?[\w.$]+$)", RE2::Latin1);
    static const RE2 error(R"(\b(?:ptxas|nvlink) (?:error|fatal)\s*: )");
    static const RE2 shape(R"(^(?:\(\d+, \d+, \d+\)x\(|\d+, \d+\)x\(|\d+\)x\())");
    static const RE2 launch(R"(\)x\(\d|, Context \d+, Str|, Device \d+, CC )");
    if (next.empty() || line_.empty() || begins_line(next)) return false;
    if (is_cut(line_) || (next.starts_with(", ") && RE2::PartialMatch(line_, report))) return true;
    const std::string_view text = without_table_marks(line_);
    if (!NcuLaunches::known_at(text).empty() && NcuLaunches::known_at(without_table_marks(next)).empty())
      return is_digit(text.back()) ? next.find_first_not_of("0123456789., |") == next.npos
                                   : next.find_first_of("0123456789") != next.npos;
    if (RE2::PartialMatch(next, shape)) return true;
    if (!is_full_) return false;
    return RE2::PartialMatch(line_, error) || (!is_blank(next.front()) && RE2::PartialMatch(next, launch)) ||
           (RE2::PartialMatch(line_, name) && next.find_first_of(spaces) == next.npos);
  }

  /// Whether the line was cut inside a word or number rather than between two.
  [[nodiscard]] bool is_word_cut(const std::string& next) const {
    static const RE2 word(
        R"(^(?:bytes|registers|function|[gls]mem|cmem|barriers|used|uses|too|much|shared|data|with|max|)"
        R"(regcount|for|calls|stack|frame|spill|stores|loads|entry|cumulative|size|required|allowed|in)\b|)"
        R"(^'\w|^(?:STACK|SHARED|)"
        R"(LOCAL|CONSTANT\[0\]|TEXTURE|SURFACE|SAMPLER):)",
        RE2::Latin1);
    if (next.starts_with(',')) return true;
    const std::string_view last = std::string_view(line_).substr(line_.find_last_of(spaces) + 1);
    const bool are_numbers = last.find('.') != last.npos && next.find('.') != next.npos;
    return (is_full_ || is_digit(last.back()) || last.ends_with('.')) && !are_numbers &&
           !RE2::PartialMatch(next, word);
  }

  const WrappedWidth& wrapped_;
  const std::function<void(const std::string&)>& read_;
  std::string line_;
  bool is_full_ = false;
  int parts_ = 0;
};

/// Calls visit(line) for each non-empty line; carriage returns also end lines, as in progress bars.
void each_raw_line(std::string_view text, const auto& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void LinePrefixes::observe(std::string_view line) {
  constexpr std::size_t longest = 200, max_shapes = 16;
  const std::int64_t last_number = last_number_;
  last_number_ = first_number(line);
  for (const std::string_view words : first_words) {
    std::size_t at = line.find(words);
    if (at == line.npos || at > longest) continue;
    if (at > 0 && line[at - 1] == '"') --at;  // part of a cell
    const std::string_view prefix = line.substr(0, at);
    std::string shape = shape_of(prefix);
    if (shape.empty() || shape.find('"') != shape.npos || is_cells(shape)) continue;
    // A lone number may be a table cell, unless it counts lines.
    const bool is_number = prefix.find_first_not_of("0123456789 \t") == prefix.npos;
    if (is_number && last_number_ != last_number + 1) continue;
    if (shapes_.size() < max_shapes && std::ranges::find(shapes_, shape) == shapes_.end())
      shapes_.push_back(std::move(shape));
  }
}

std::string_view LinePrefixes::strip(std::string_view line) const {
  std::size_t longest = 0;
  for (const std::string& shape : shapes_) longest = std::max(longest, match_length(line, shape));
  return line.substr(longest);
}

void each_pasted_line(const std::string& text, const std::function<void(const std::string&)>& read) {
  LinePrefixes prefixes;
  WrappedWidth wrapped;
  each_raw_line(text, [&](std::string_view line) {
    const std::string plain = plain_line(line);
    prefixes.observe(plain);
    wrapped.observe(plain, line);
  });
  Unwrapping unwrapping(wrapped, read);
  each_raw_line(text, [&](std::string_view line) {
    const std::string plain = plain_line(line);
    unwrapping.add(std::string(prefixes.strip(plain)), line);
  });
  unwrapping.end();
}

}  // namespace occbench::binary
