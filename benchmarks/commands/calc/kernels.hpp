// SPDX-License-Identifier: Apache-2.0
// `occbench calc FILE`: every kernel of what a compiler or a profiler wrote.
#pragma once

#include <ostream>

#include "benchmarks/commands/calc/batch.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {

/// Prints a row per kernel; numbers of the command line go before the file's. Returns whether all launch, and
/// of `--block-size all` whether each does with one block size at least. Throws UserError where something is
/// missing that the file does not say, or no kernel has the name that was asked for.
bool run_kernels(const binary::KernelUses& uses, const std::string& source, std::ostream& out,
                 const CalcOptions& options, const DeviceResolver& resolve);

}  // namespace occbench::commands
