// SPDX-License-Identifier: Apache-2.0
// `occbench attach --registers`: the program's own kernels with caps on their registers.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// "32,40,64", as the library reads it. Throws std::invalid_argument.
[[nodiscard]] std::string caps_of(const std::string& words);

/// Writes the PTX of the program's own file into `folder`, for the library.
void write_ptx(const std::string& program, const std::filesystem::path& folder);

/// Whether a cap changed any kernel.
[[nodiscard]] bool has_versions(const attach::Collected& all);

/// Each kernel's versions with their times, and which is the fastest; `warns`: that outputs may differ.
void print_versions(std::ostream& out, const attach::Collected& all,
                    const std::vector<attach::Verdict>& verdicts, bool warns);

/// registers.csv; empty where no kernel has versions.
[[nodiscard]] std::string registers_csv(const std::vector<attach::Verdict>& verdicts);

}  // namespace occbench::commands
