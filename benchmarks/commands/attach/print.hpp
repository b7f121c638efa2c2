// SPDX-License-Identifier: Apache-2.0
// What `occbench attach` prints when the program has ended.
#pragma once

#include <ostream>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// The table of the kernels with most GPU time, what was skipped, and the sentence for the whole program.
void print_attached(std::ostream& out, const attach::Collected& all,
                    const std::vector<attach::Verdict>& verdicts, const std::vector<double>& levels,
                    bool is_observed);

}  // namespace occbench::commands
