// SPDX-License-Identifier: Apache-2.0
// Finds the exact bytes behind a rounded figure of shared memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/binary/kernel_use.hpp"
#include "harness/binary/report_number.hpp"
#include "harness/theory/occupancy/answer.hpp"

namespace occbench::binary {

/// The whole number within [least, most] divisible by the highest power of two; 0 if 0 is within.
[[nodiscard]] std::size_t roundest(double least, double most);

/// The range behind a rounded number that the report writes as `text`; nullopt if it is exact.
[[nodiscard]] std::optional<RoundedBytes> rounded_bytes(const std::optional<ReportNumber>& number,
                                                        const std::string& text);

/// Texts; empty if there is nothing to report.
struct SmemRounding {
  std::string figures;  ///< "45.57 Kbyte/block", if several values agree with the report
  std::string
      remark;  ///< why there are two answers, if both are possible: "45.57 Kbyte/block is rounded: ..."
};

/// Sets the query's shared memory to a value consistent with the report: its rounded figures and, if given,
/// the blocks that shared memory allows in the launch's configuration. `reported` is the SM of the report,
/// `sm` the one to answer for.
[[nodiscard]] SmemRounding resolve_rounded_smem(const theory::SmLimits& reported, const theory::SmLimits& sm,
                                                const KernelUse& use, theory::Query& query);

}  // namespace occbench::binary
