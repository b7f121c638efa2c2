// SPDX-License-Identifier: Apache-2.0
// A run that lost its CUDA context goes on in a new process, as --resume would.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace occbench {

/// Becomes `occbench run WORDS`, with `rows` in its folder. Returns where it cannot, or where the process
/// before this one had as many.
void exec_resume(const std::vector<std::string>& words, std::size_t rows);

/// Whether this process goes on for one that a case ended.
bool goes_on_for_another();

}  // namespace occbench
