// SPDX-License-Identifier: Apache-2.0
// `occbench calc --page FILE`: the calculator as one web page.
#pragma once

#include <string>

#include "benchmarks/commands/calc/query.hpp"

namespace occbench::commands {

/// Writes the page with the query of the command line in its inputs. Throws std::invalid_argument on numbers
/// and devices that calc refuses, UserError(Exit::file) if it cannot be written.
void write_page(const std::string& path, const CalcOptions& options);

}  // namespace occbench::commands
