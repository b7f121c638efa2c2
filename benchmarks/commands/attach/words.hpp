// SPDX-License-Identifier: Apache-2.0
// Names, figures and verdicts of attached kernels in a few words, for sentences and tables.
#pragma once

#include <cstddef>
#include <string>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// What was found of one kernel, and what to do about it.
struct VerdictText {
  std::string kind;      ///< "needs occupancy", as kernels.csv has it
  std::string sentence;  ///< "needs occupancy, and L1 (+8.3 % without)", "unknown: about 61 launches more"
  std::string advice;    ///< "8 registers fewer: -6.0 % (-8.9 to +1.2)"
};
[[nodiscard]] VerdictText describe_verdict(const attach::Kernel& kernel, const attach::Verdict& verdict);

/// Without return type and arguments, at most `room` characters, safe to print.
[[nodiscard]] std::string short_name_of(const std::string& name, std::size_t room);

/// "softmax", or "gelu after softmax" where its launches were split by that.
[[nodiscard]] std::string name_of(const attach::Kernel& kernel, std::size_t room);

/// " in forward": the NVTX range; empty outside one.
[[nodiscard]] std::string range_phrase(const attach::Kernel& kernel);

/// "64x32"
[[nodiscard]] std::string shape_of(const unsigned (&n)[3]);

/// "64x32", or "64x32 on 16 SMs" of a kernel that may not run on all.
[[nodiscard]] std::string grid_of(const attach::Collected& all, const attach::Kernel& kernel);

/// "9.2 %"
[[nodiscard]] std::string part(double share);

/// "+9.2 %"
[[nodiscard]] std::string signed_part(double change);

/// "32.9 us", "1.38 ms", "2.10 s"; a dash without a time.
[[nodiscard]] std::string time_of(double us);

}  // namespace occbench::commands
