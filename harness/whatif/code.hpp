// SPDX-License-Identifier: Apache-2.0
// The machine code of a measured kernel, out of its binary.
#pragma once

#include <string>
#include <vector>

#include "harness/theory/simulator/program.hpp"
#include "harness/whatif/profile.hpp"

namespace occbench::whatif {

/// What `occbench machine-code` is asked: FILE, and how often the profile says that each instruction ran.
/// Throws Refused where it does not say.
[[nodiscard]] std::vector<std::string> machine_code_words(const std::string& file, const Profile& profile);

/// The kernel in what it wrote. Throws Refused where that is no description of one.
[[nodiscard]] theory::Program parse_code(const std::string& text);

}  // namespace occbench::whatif
