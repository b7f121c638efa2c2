// SPDX-License-Identifier: Apache-2.0
// Which bytes a rounded figure of shared memory stands for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/binary/kernel_use.hpp"
#include "harness/binary/report_number.hpp"
#include "harness/theory/occupancy/answer.hpp"

namespace occbench::binary {

/// The whole number within [least, most] that is a multiple of the highest power of two; 0 if it is within.
[[nodiscard]] std::size_t roundest(double least, double most);

/// The bytes that a rounded number stands for, which the report writes as `text`; nullopt if it is exact.
[[nodiscard]] std::optional<RoundedBytes> rounded_bytes(const std::optional<ReportNumber>& number,
                                                        const std::string& text);

/// Texts, empty where there is nothing to say.
struct SmemRounding {
  std::string figures;  ///< "45.57 Kbyte/block", where more than one value agrees with the report
  std::string
      remark;  ///< why there are two answers, if both are possible: "45.57 Kbyte/block is rounded: ..."
};

/// Sets the query's shared memory to a value that agrees with all that the report says: its rounded figures,
/// and, if it has them, the blocks that shared memory allows of the launch's configuration. `reported` is the
/// SM of the report, `sm` the one that the answers are for.
[[nodiscard]] SmemRounding resolve_rounded_smem(const theory::SmLimits& reported, const theory::SmLimits& sm,
                                                const KernelUse& use, theory::Query& query);

}  // namespace occbench::binary
