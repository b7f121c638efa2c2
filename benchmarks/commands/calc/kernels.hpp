// SPDX-License-Identifier: Apache-2.0
// `occbench calc FILE`: every kernel in the output of a compiler or a profiler.
#pragma once

#include <ostream>

#include "benchmarks/commands/calc/query.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {

/// Prints a row per kernel; numbers of the command line replace the file's. Returns whether all launch, with
/// `--block-size all` whether each launches with at least one block size. Throws UserError where neither
/// gives a needed number, or no kernel has the name.
bool run_kernels(const binary::KernelUses& uses, const std::string& source, std::ostream& out,
                 const CalcOptions& options, const DeviceResolver& resolve);

}  // namespace occbench::commands
