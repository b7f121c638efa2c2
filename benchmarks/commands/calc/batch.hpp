// SPDX-License-Identifier: Apache-2.0
// `occbench calc --batch`: a table of footprints, answered row by row.
#pragma once

#include <array>
#include <ostream>
#include <string>

#include "benchmarks/commands/calc/query.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

/// What was asked for on the command line.
struct CalcOptions {
  std::string device, format = "table", batch, file, kernel_name, parameters;
  NumberTexts texts;
  ClassWords kernel;  ///< of no kind if nothing is to be predicted
  bool tour = false;
};

/// Answers come line by line, before the next is waited for: a row is one line, and a quote that is never
/// closed costs its own row alone. Throws UserError where the header cannot be read and, behind all answers,
/// where the last row is cut off.
void run_batch(Descriptor file, const std::string& source, std::ostream& out, const CalcOptions& options,
               const DeviceResolver& resolve);

}  // namespace occbench::commands
