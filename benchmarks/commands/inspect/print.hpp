// SPDX-License-Identifier: Apache-2.0
// The answers of `occbench inspect` to people and to programs.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/commands/inspect/query.hpp"

namespace occbench::commands {

/// For people: a row per kernel, and its findings. `title` is the first line. `rows` has at least one.
void print_inspected(std::ostream& out, const std::string& format, const std::string& title,
                     const std::vector<InspectedKernel>& rows);

/// For programs: csv or json, every column of every row.
void print_all_columns(std::ostream& out, const std::string& format,
                       const std::vector<InspectedKernel>& rows);

/// A kernel's name, shortened for a table.
[[nodiscard]] std::string table_name(const binary::CompiledKernel& kernel);

}  // namespace occbench::commands
