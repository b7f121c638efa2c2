// SPDX-License-Identifier: Apache-2.0
// `occbench inspect --format sarif`: findings at their source lines, as code review shows them (SARIF 2.1.0).
#pragma once

#include <ostream>
#include <set>
#include <span>
#include <string>

#include "benchmarks/commands/inspect/diff.hpp"

namespace occbench::commands {

/// A result for each finding that a kernel has and its earlier build has not, for what it lost against that
/// build, and for each of `failing`, which meet `condition`. `errors`: what could not be read.
void print_sarif(std::ostream& out, std::span<const Changed> kernels, const std::string& condition,
                 const std::set<const binary::CompiledKernel*>& failing, std::span<const std::string> errors);

}  // namespace occbench::commands
