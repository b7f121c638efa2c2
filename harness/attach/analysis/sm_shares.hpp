// SPDX-License-Identifier: Apache-2.0
// Judges a kernel by its times on a part of the SMs: whether SMs, more blocks or neither would help.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/attach/analysis/change.hpp"
#include "harness/attach/analysis/collect.hpp"

namespace occbench::attach {

constexpr double spare_cost = 0.05;  // of the time: SMs that cost less can be given away
constexpr double many_waves = 10;    // from here on the last wave does not matter

enum class SmFinding { none, unknown, sm_bound, partly_sm_bound, memory_bound, small_grid };
/// "grid too small", as kernels.csv has it.
[[nodiscard]] const char* words_of(SmFinding finding);
/// nullopt: there is none such.
[[nodiscard]] std::optional<SmFinding> sm_finding_of(std::string_view words);

struct ShareFound {
  int sms = 0;
  std::size_t samples = 0;
  Change change;            ///< against untouched launches on all SMs
  double in_full = 0;       ///< the change of a kernel whose time is the SMs' alone
  bool is_stacked = false;  ///< all blocks are resident there at once
};

struct SmVerdict {
  SmFinding finding = SmFinding::none;
  std::string why;                 ///< of unknown
  std::vector<ShareFound> shares;  ///< most SMs first
  std::optional<int> spare_sms;    ///< that can be given away for 5 % of its time
};

[[nodiscard]] SmVerdict judge_sms(const Kernel& kernel);

/// One of the shares, of medians.
[[nodiscard]] ShareFound share_found(const Kernel& kernel, int sms, std::size_t samples, const Median& time,
                                     const Median& untouched);
/// That nearest to half of the SMs; null where none is near.
[[nodiscard]] const ShareFound* middle_share(const Kernel& kernel, const SmVerdict& verdict);

}  // namespace occbench::attach
