// SPDX-License-Identifier: Apache-2.0
// The words of a finding: numbers, values of a dial, and curves by what tells them apart.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/report/findings/rows.hpp"

namespace occbench::findings {

constexpr double near_best = 0.9;             // share of the best that is enough
constexpr double case_precision = 0.005;      // smaller changes count as none
constexpr std::size_t longest_sentence = 30;  // words

/// The number alone: "24", "75 KiB", "12.5 %", "maxnreg".
std::string amount(std::string_view column, const Cell& value);
std::string amount(std::string_view column, double value);
/// Four significant digits, thousands apart: "1.008", "4,096".
std::string format_number(double value);
/// A value of a dial: "24 warps per SM", "blocks of 128", "4 points per thread" by the words of `experiment`.
std::string value_of(std::string_view experiment, std::string_view column, const Cell& value);
std::string value_of(std::string_view experiment, std::string_view column, double value);
/// "31 to 33 registers", "blocks of 64 to 96", "32 to 48 KiB of shared memory per block".
std::string span_of(std::string_view experiment, std::string_view column, double low, double high);
/// "189 to 190", or "209".
std::string span(double low, double high);
/// "4,418 GB/s", "65.8 TFLOP/s"
std::string speed(double rate, const std::string& unit);
/// "-68.1 %", "+2.8 %" or "no change"
std::string change(double after, double before);
/// "lose 21.0 %", "gain 3.1 %" or "lose nothing"; "loses" unless is_plural
std::string loss_or_gain(double after, double before, bool is_plural);
/// "a", "a and b", "a, b and c"
std::string join_with_and(const std::vector<std::string>& words);
/// "1 case", "12 cases"; a figure that is not a whole number has its digits.
std::string count_with_noun(double count, const std::string& noun);
/// The first part, and each further one with which the sentence has at most longest_sentence words.
std::string fit_sentence(const std::vector<std::string>& parts);
std::string capitalize(std::string words);

/// How an experiment's sentences name curves, forms and families ("read": "reads") and a column's values
/// ("ilp": "{} points per thread"; empty: not mentioned): for legends.
using Words = std::map<std::string, std::string>;
Words words_for(const Rows& rows, const RowIndices& places, const std::string& experiment);

/// What a curve, a form or a family does, as a plural: "reads", "FMA chains"; "`NAME`" where it has no words.
std::string subject(const Rows& rows, std::size_t row);
/// Names lines by their subject and the columns in which they differ.
class Names {
 public:
  /// `among`: the lines that a sentence may name.
  Names(const Rows& rows, std::string experiment, const std::vector<Line>& among, std::string_view dial);
  /// "64 B in flight per thread, blocks of 128": what tells `line` apart from `other`, or from all.
  [[nodiscard]] std::vector<std::string> differences(const Line& line, const Line* other = nullptr) const;
  /// "reads with 64 B in flight per thread"
  [[nodiscard]] std::string name(const Line& line) const;
  /// The same of one row.
  [[nodiscard]] std::string name(std::size_t row) const;

 private:
  [[nodiscard]] std::vector<std::string> differing_words(std::size_t row, std::optional<std::size_t> other,
                                                         const Line* line) const;
  const Rows& rows_;
  std::string experiment_;
  std::vector<std::size_t> firsts_;  ///< a row of each line
  std::string dial_;
};

/// Bytes that one thread keeps in flight; NaN where no dial has them.
double bytes_in_flight(const Rows& rows, std::size_t row);

}  // namespace occbench::findings
