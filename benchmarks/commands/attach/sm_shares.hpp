// SPDX-License-Identifier: Apache-2.0
// `occbench attach --sms`: what a part of the SMs costs each kernel.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// A table of the kernels that ran on fewer SMs, and how many SMs the program can give away.
void print_sm_shares(std::ostream& out, const attach::Collected& all,
                     const std::vector<attach::Verdict>& verdicts);

/// "memory-bound: 64 of 132 SMs cost 4.0 % (3.6 to 4.4)", "unknown: too few launches"; empty: it never ran on
/// fewer.
[[nodiscard]] std::string sm_words_of(const attach::Kernel& kernel, const attach::SmVerdict& verdict);

/// "SMs that can be given away for 5 %: 36 of 132. ..."; empty where no launch ran on fewer.
[[nodiscard]] std::string sentence_of_spare_sms(const attach::Collected& all,
                                                const std::vector<attach::Verdict>& verdicts);

}  // namespace occbench::commands
