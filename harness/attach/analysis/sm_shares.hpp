// SPDX-License-Identifier: Apache-2.0
// Judges a kernel by its times on a part of the SMs: whether SMs, more blocks or neither would help.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/verdict.hpp"

namespace occbench::attach {

constexpr double spare_cost = 0.05;  // of the time: SMs that cost less can be given away

enum class SmFinding { none, unknown, sm_bound, partly_sm_bound, memory_bound, small_grid };
/// "grid too small", as kernels.csv has it.
[[nodiscard]] const char* words_of(SmFinding finding);

struct ShareFound {
  int sms = 0;
  std::size_t samples = 0;
  Change change;            ///< against untouched launches on all SMs
  double in_full = 0;       ///< the change of a kernel whose time is the SMs' alone
  bool is_stacked = false;  ///< all blocks are resident there at once
};

struct SmVerdict {
  SmFinding finding = SmFinding::none;
  std::vector<ShareFound> shares;  ///< most SMs first
  std::optional<int> spare_sms;    ///< that can be given away for 5 % of its time
};

[[nodiscard]] SmVerdict judge_sms(const Kernel& kernel);

/// "Of 132 SMs, 36 can be given away for 2.1 % ..."; empty where no launch ran on fewer SMs. `verdicts`: of
/// all kernels.
[[nodiscard]] std::string sentence_of_sms(const Collected& all, const std::vector<SmVerdict>& verdicts);

}  // namespace occbench::attach
