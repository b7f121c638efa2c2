// SPDX-License-Identifier: Apache-2.0
// The results folder of `occbench attach`: kernels.csv, arms.csv, launches.csv.gz and env.json.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// `run` is what the command knows of itself. Throws UserError(Exit::file).
void record_attached(const std::filesystem::path& folder, const attach::Collected& all,
                     const std::vector<attach::Verdict>& verdicts, const nlohmann::json& run);

}  // namespace occbench::commands
