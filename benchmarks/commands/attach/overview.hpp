// SPDX-License-Identifier: Apache-2.0
// The program as a whole: what its time is spent on before any kernel is looked at, and what was judged.
#pragma once

#include <string>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// "GPU busy 38 % of the 5.6 s from first launch to last, ...: launches are the brake"; empty where the time
/// was not recorded.
[[nodiscard]] std::string sentence_of_time(const attach::Collected& all);

/// "Judged, of GPU time: 53.0 % by fewer warps. Left: 28.0 % one block per SM, 5.0 % unknown."
[[nodiscard]] std::string sentence_of_judged(const attach::Collected& all,
                                             const std::vector<attach::Verdict>& verdicts);

}  // namespace occbench::commands
