// SPDX-License-Identifier: Apache-2.0
// The runs that belong to the repository, as results/committed.txt names them, whatever lies beside them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace occbench {

/// Their folders, from the repository root, where CTest starts a test; of one GPU by its folder's name.
inline std::vector<std::filesystem::path> committed_runs(const std::string& gpu = "") {
  std::vector<std::filesystem::path> folders;
  std::ifstream list("results/committed.txt");
  for (std::string name; std::getline(list, name);)
    if (!name.empty() && !name.starts_with('#') && (gpu.empty() || name.starts_with(gpu + '/')))
      folders.push_back(std::filesystem::path("results") / name);
  return folders;
}

}  // namespace occbench
