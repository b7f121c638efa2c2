// SPDX-License-Identifier: Apache-2.0
// Judges a kernel by its times on some of the SMs: whether SMs, more blocks or neither would help.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/attach/analysis/change.hpp"
#include "harness/attach/analysis/collect.hpp"

namespace occbench::attach {

constexpr double spare_cost = 0.05;  // of the time: SMs that cost less can be spared
constexpr double many_waves = 10;    // from here on the last wave is negligible

enum class SmFinding { none, unknown, sm_bound, partly_sm_bound, memory_bound, small_grid };
/// "grid too small", as kernels.csv has it.
[[nodiscard]] const char* to_string(SmFinding finding);
/// nullopt for unknown words.
[[nodiscard]] std::optional<SmFinding> parse_sm_finding(std::string_view words);

struct SmShareResult {
  int sms = 0;
  std::size_t samples = 0;
  Change change;                  ///< from untouched launches on all SMs
  double sm_bound_change = 0;     ///< the change of a purely SM-bound kernel
  bool fits_in_one_wave = false;  ///< all blocks fit on the share at once
};

struct SmVerdict {
  SmFinding finding = SmFinding::none;
  std::string why;                    ///< for unknown
  std::vector<SmShareResult> shares;  ///< most SMs first
  std::optional<int> spare_sms;       ///< that can be spared for 5 % of its time
};

[[nodiscard]] SmVerdict judge_sms(const Kernel& kernel);

/// Compares the median on one share with the untouched one.
[[nodiscard]] SmShareResult share_found(const Kernel& kernel, int sms, std::size_t samples,
                                        const Median& time, const Median& untouched);
/// The share nearest to half of the SMs; null if none is near.
[[nodiscard]] const SmShareResult* middle_share(const Kernel& kernel, const SmVerdict& verdict);

}  // namespace occbench::attach
