// SPDX-License-Identifier: Apache-2.0
// One launch of somebody's kernel as Nsight Compute measured it, and what must have been measured.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace occbench::whatif {

/// Why nothing is said of a kernel, or of a change: one line.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Numbers in byte, second and hertz; counts are of all warps of the launch together.
struct Profile {
  std::string kernel;  ///< as ncu printed it, mangled or not
  std::string cc;      ///< "9.0"
  std::map<std::string, double, std::less<>> metrics;
  /// What a metric's value is made of: opcodes, or instructions by address. In ncu's order.
  std::map<std::string, std::vector<std::pair<std::string, double>>, std::less<>> parts;

  std::map<std::string, std::string, std::less<>> names;  ///< metrics that are no numbers

  [[nodiscard]] std::optional<double> find(std::string_view metric) const;
  /// 0 where it was not measured.
  [[nodiscard]] double get(std::string_view metric) const { return find(metric).value_or(0); }
  /// Throws Refused naming it.
  [[nodiscard]] double need(std::string_view metric) const;
  /// Executions of the opcodes that begin so.
  [[nodiscard]] double executed(std::string_view opcode) const;
};

/// The launches in what `ncu --csv` printed, page raw. Those of page details lack most of what is needed.
[[nodiscard]] std::vector<Profile> read_profiles(const std::string& text);

/// What whatif reads, by ncu's names.
[[nodiscard]] std::span<const std::string_view> metrics();

/// The call of ncu that measures all of it.
[[nodiscard]] std::string ncu_command();

}  // namespace occbench::whatif
