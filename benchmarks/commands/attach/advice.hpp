// SPDX-License-Identifier: Apache-2.0
// Which kernels `occbench attach --apply` is to give fewer warps: by words, or by what a finished folder
// found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/attach/protocol/advice.hpp"

namespace occbench::commands {

struct Advised {
  std::vector<attach::Advice> levels;
  std::vector<attach::Advice> left;  ///< other launches of these kernels, which are to stay as they are
  double expected = 0;  ///< share of the GPU time that they should gain, by the folder; 0 where none says so
};

/// "softmax=1/2": a name's pattern and a share of the natural warps. Throws std::invalid_argument.
[[nodiscard]] Advised advice_of(const std::vector<std::string>& words);

/// Of each kernel that is faster lower, the fastest level. Throws UserError where there is none such.
[[nodiscard]] Advised best_of(const std::filesystem::path& folder);

/// The program's words that a finished folder was made with. Throws UserError where it is none.
[[nodiscard]] std::vector<std::string> program_of(const std::filesystem::path& folder);

/// The last of those that `occbench attach -- PROGRAM` made here. Throws UserError where there is none.
[[nodiscard]] std::filesystem::path last_folder(const std::vector<std::string>& program);

}  // namespace occbench::commands
