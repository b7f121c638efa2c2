// SPDX-License-Identifier: Apache-2.0
// `occbench calc --hide`: the warps whose instructions fill the time for which one warp waits.
#pragma once

#include <ostream>

#include "benchmarks/commands/calc/query.hpp"

namespace occbench::commands {

/// Throws std::invalid_argument on a number out of range or an unknown device.
void print_hiding(std::ostream& out, const CalcOptions& options, const DeviceResolver& resolve);

}  // namespace occbench::commands
