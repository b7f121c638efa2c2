// SPDX-License-Identifier: Apache-2.0
// The answers of `occbench inspect` to people and to programs.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/commands/inspect/query.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {

/// For a person: one row per kernel, and what is worth a look. `title` is the first line. `rows` has at least
/// one.
void print_inspected(std::ostream& out, const std::string& format, const std::string& title,
                     const std::vector<Inspected>& rows);

/// For programs: csv or json, every column of every row.
void print_all_columns(std::ostream& out, const std::string& format, const std::vector<Inspected>& rows);

/// "a, b, c and 3 more"
[[nodiscard]] std::string listed(const std::vector<std::string>& names, std::size_t most);

/// A kernel's name, as short as a table has it.
[[nodiscard]] std::string table_name(const binary::CompiledKernel& kernel);

}  // namespace occbench::commands
