// SPDX-License-Identifier: Apache-2.0
// The findings of a run's folder: findings.json beside cases.csv, for terminal, pages and tools.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "benchmarks/report/findings/findings.hpp"

namespace occbench::findings {

/// The findings of a folder's cases.csv and env.json, computed anew.
struct FolderFindings {
  std::vector<ExperimentFindings> all = {};
  nlohmann::json file = {};  ///< as findings.json has it (results/schema.json, `findings.json`)
};

/// Throws UserError(Exit::file) where cases.csv or env.json cannot be read or is too large, cases.csv lacks a
/// column that findings need, or a cell is not as results/schema.json says. Columns may have their names of
/// schema 6.
FolderFindings read_findings(const std::filesystem::path& folder);

/// The same, written into the folder. Throws likewise.
FolderFindings write_findings(const std::filesystem::path& folder);

}  // namespace occbench::findings
