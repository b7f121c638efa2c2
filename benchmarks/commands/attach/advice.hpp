// SPDX-License-Identifier: Apache-2.0
// Which kernels `occbench attach --apply` gives fewer warps: as named, or by the results in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/attach/protocol/advice.hpp"

namespace occbench::commands {

struct Advised {
  std::vector<attach::Advice> levels;
  std::vector<attach::Advice> unchanged;  ///< other launches of these kernels
  double expected = 0;                    ///< gain as a share of GPU time, by the folder; 0: without one
};

/// "softmax=1/2": a name's pattern and a share of the natural warps. Throws std::invalid_argument.
[[nodiscard]] Advised advice_of(const std::vector<std::string>& levels);

/// The fastest level of each kernel that is faster at lower occupancy. Throws UserError where there is none.
[[nodiscard]] Advised best_of(const std::filesystem::path& folder);

/// The program whose results a folder holds, with its arguments. Throws UserError where it holds none.
[[nodiscard]] std::vector<std::string> program_of(const std::filesystem::path& folder);

/// The last folder that `occbench attach -- PROGRAM` made here. Throws UserError where there is none.
[[nodiscard]] std::filesystem::path last_folder(const std::vector<std::string>& program);

}  // namespace occbench::commands
