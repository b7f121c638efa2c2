// SPDX-License-Identifier: Apache-2.0
// A run that lost its CUDA context continues in a new process, as with --resume.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace occbench {

/// Replaces this process by `occbench run ARGUMENTS`; `rows` are in its folder. Returns where it cannot, or
/// where the process before this one had as many rows: another would get no further.
void exec_resume(const std::vector<std::string>& arguments, std::size_t rows);

/// Whether this process continues the run of another one.
bool resumes_another();

}  // namespace occbench
