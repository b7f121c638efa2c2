// SPDX-License-Identifier: Apache-2.0
// A launch profiled by Nsight Compute: the metrics that whatif needs.
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

/// Why a kernel or change cannot be predicted; what() is one line.
class UnsupportedProfile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Values in byte, second and hertz; counts are of all warps of the launch.
struct Profile {
  std::string kernel;  ///< as ncu prints it, mangled or not
  std::string cc;      ///< "9.0"
  std::map<std::string, double, std::less<>> metrics;
  /// Metric instances, by opcode or instruction address, in ncu's order.
  std::map<std::string, std::vector<std::pair<std::string, double>>, std::less<>> parts;

  std::map<std::string, std::string, std::less<>> names;  ///< metrics with text values

  [[nodiscard]] std::optional<double> find(std::string_view metric) const;
  /// 0 if not measured.
  [[nodiscard]] double get(std::string_view metric) const { return find(metric).value_or(0); }
  /// Throws UnsupportedProfile with the metric's name if not measured.
  [[nodiscard]] double need(std::string_view metric) const;
  /// Executions of all opcodes with this prefix.
  [[nodiscard]] double count_executions(std::string_view opcode) const;
};

/// The launches in `ncu --csv` output of page raw. Page details lacks most metrics.
[[nodiscard]] std::vector<Profile> read_profiles(const std::string& text);

/// The metrics that whatif reads, by ncu's names.
[[nodiscard]] std::span<const std::string_view> metrics();

/// The ncu command that measures all of them.
[[nodiscard]] std::string ncu_command();

}  // namespace occbench::whatif
