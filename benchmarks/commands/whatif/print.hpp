// SPDX-License-Identifier: Apache-2.0
// The answers of `occbench whatif`, for people and for programs.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "harness/whatif/ask.hpp"

namespace occbench::commands {

/// A changed launch and its answer.
struct Change {
  std::string dial;   ///< "as measured", "registers_per_thread", ...
  std::string value;  ///< of the dial
  std::string gpu;    ///< its name in the catalogue
  whatif::Launch launch;
  std::optional<whatif::Answer> answer;
  std::string status = "ok";  ///< or why there is no answer
};

/// `changes` begins with the launch as it was measured.
void print_whatif(std::ostream& out, const std::string& format, const whatif::Anchored& kernel,
                  const std::vector<Change>& changes);

}  // namespace occbench::commands
