// SPDX-License-Identifier: Apache-2.0
// The results folder of `occbench attach`, read back: what was found, and findings.json that says it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/commands/attach/sentences.hpp"

namespace occbench::commands {

/// The cells of a row by the names of their columns.
using Cells = std::map<std::string, std::string>;

enum class LastRow { may_be_cut, whole };

/// The rows of a CSV file, each as results/schema.json says. A last row that was cut off is left out, or
/// refused like others. Throws UserError(Exit::file).
[[nodiscard]] std::vector<Cells> table_of(const std::filesystem::path& path,
                                          LastRow last = LastRow::may_be_cut);

/// kernels.csv, arms.csv, env.json and registers.csv, of this schema or the one before it. Throws
/// UserError(Exit::file).
[[nodiscard]] AttachResults read_attached(const std::filesystem::path& folder);

/// Whether env.json says that the folder is of `occbench attach`.
[[nodiscard]] bool is_attached(const std::filesystem::path& folder);

/// What the folder says, as its findings.json has it (results/schema.json, `attach`). Throws likewise.
[[nodiscard]] nlohmann::json attached_findings(const std::filesystem::path& folder);

/// The same, written into the folder.
void write_attached_findings(const std::filesystem::path& folder);

}  // namespace occbench::commands
