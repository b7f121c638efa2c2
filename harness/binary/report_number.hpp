// SPDX-License-Identifier: Apache-2.0
// Numbers as printed by profilers: rounded, scaled by a unit, and grouped by locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace occbench::binary {

/// In bytes, microseconds or the unit itself. The printed digits stand for `least` to `most`.
struct ReportNumber {
  double value = 0, least = 0, most = 0;
};

/// The decimal mark of a report: "45.57" or "45,57". Numbers such as "205.696" are ambiguous.
class NumberStyle {
 public:
  void observe(std::string_view text);
  [[nodiscard]] char decimal_mark() const { return comma_votes_ > point_votes_ ? ',' : '.'; }

 private:
  int point_votes_ = 0, comma_votes_ = 0;
};

/// Reads "205,696", "205.696", "205 696" or "205'696" and "45.57" with its unit ("Kbyte/block"). A count
/// (`is_count`) has no decimals, so a lone mark before three digits groups them. nullopt if not a number.
[[nodiscard]] std::optional<ReportNumber> read_number(std::string_view text, std::string_view unit,
                                                      char decimal_mark, bool is_count);

}  // namespace occbench::binary
