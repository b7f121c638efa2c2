// SPDX-License-Identifier: Apache-2.0
// Reads the machine code of a measured kernel from its binary.
#pragma once

#include <string>
#include <vector>

#include "harness/theory/simulator/program.hpp"
#include "harness/whatif/profile.hpp"

namespace occbench::whatif {

/// Arguments of `occbench machine-code`: FILE, and execution counts from the profile. Throws Refused if the
/// profile has none.
[[nodiscard]] std::vector<std::string> machine_code_words(const std::string& file, const Profile& profile);

/// Parses its output. Throws Refused if that is not the description of one kernel.
[[nodiscard]] theory::Program parse_code(const std::string& text);

}  // namespace occbench::whatif
