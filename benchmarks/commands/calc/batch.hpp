// SPDX-License-Identifier: Apache-2.0
// `occbench calc --batch`: a table of footprints in, with answers out.
#pragma once

#include <ostream>
#include <string>

#include "benchmarks/commands/calc/query.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

/// Prints each row before it waits for the next. A row is one line, so a quote that is never closed costs its
/// own row alone. Throws UserError if the header is invalid.
void run_batch(Descriptor file, const std::string& source, std::ostream& out, const CalcOptions& options,
               const DeviceResolver& resolve);

}  // namespace occbench::commands
