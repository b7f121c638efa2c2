// SPDX-License-Identifier: Apache-2.0
// `occbench inspect --diff OLD NEW`: what a commit, a flag or a toolkit changed, kernel by kernel.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/commands/inspect/condition.hpp"
#include "benchmarks/commands/inspect/query.hpp"

namespace occbench::commands {

/// A kernel of both files, or of one.
struct Changed {
  const Inspected* before = nullptr;
  const Inspected* after = nullptr;

  [[nodiscard]] const binary::CompiledKernel& kernel() const { return *(after ? after : before)->kernel; }
};

struct Difference {
  std::vector<Changed> changed;  ///< lost occupancy first, then gained, then what changed otherwise
  std::vector<Changed> only_before, only_after;
  std::size_t unchanged = 0;
};

/// Of a column as it was.
inline constexpr std::string_view old_prefix = "old_";

/// Pairs kernels of one name and architecture in the order of their files; where each has code for one
/// architecture alone, whatever it is. Holds pointers to the rows.
[[nodiscard]] Difference difference(const std::vector<Inspected>& before,
                                    const std::vector<Inspected>& after);

void print_difference(std::ostream& out, const std::string& format, const std::string& title,
                      const Difference& difference);

/// A column's number of the kernel as it is now, or with "old_" before its name as it was.
[[nodiscard]] Condition::Lookup lookup_in(const Changed& changed);

}  // namespace occbench::commands
