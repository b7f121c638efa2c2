// SPDX-License-Identifier: Apache-2.0
// `occbench inspect --diff OLD NEW`: the changes of each kernel between two builds.
#pragma once

#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/commands/inspect/condition.hpp"
#include "benchmarks/commands/inspect/query.hpp"

namespace occbench::commands {

/// A kernel of both files, or of one.
struct KernelPair {
  const InspectedKernel* before = nullptr;
  const InspectedKernel* after = nullptr;

  [[nodiscard]] const binary::CompiledKernel& kernel() const { return *(after ? after : before)->kernel; }
};

struct Difference {
  std::vector<KernelPair> changed;  ///< lost occupancy first, then gained, then what changed otherwise
  std::vector<KernelPair> only_before, only_after;
  std::size_t unchanged = 0;
};

/// Before the name of a column: its value in OLD.
inline constexpr std::string_view old_prefix = "old_";

/// Pairs kernels of one name and architecture in the order of their files, or of one name if each side has
/// code for one architecture only. Holds pointers to the rows.
[[nodiscard]] Difference difference(const std::vector<InspectedKernel>& before,
                                    const std::vector<InspectedKernel>& after);

void print_difference(std::ostream& out, const std::string& format, const std::string& title,
                      const Difference& difference);

/// Looks up a column's number in NEW, or with "old_" before its name in OLD.
[[nodiscard]] Condition::Lookup lookup_in(const KernelPair& changed);

/// --format sarif: findings at their source lines, as code review shows them (SARIF 2.1.0). A result for each
/// finding that a kernel has and its earlier build has not, for what it lost against that build, and for each
/// of `failing`, which meet `condition`. `errors`: what could not be read.
void print_sarif(std::ostream& out, std::span<const KernelPair> kernels, const std::string& condition,
                 const std::set<const binary::CompiledKernel*>& failing, std::span<const std::string> errors);

}  // namespace occbench::commands
