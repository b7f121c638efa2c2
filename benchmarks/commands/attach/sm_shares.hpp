// SPDX-License-Identifier: Apache-2.0
// `occbench attach --sms`: what a part of the SMs costs each kernel.
#pragma once

#include <ostream>
#include <vector>

#include "harness/attach/analysis/sm_shares.hpp"

namespace occbench::commands {

/// A table of the kernels that ran on fewer SMs, and how many SMs the program can give away.
void print_sm_shares(std::ostream& out, const attach::Collected& all,
                     const std::vector<attach::SmVerdict>& verdicts);

}  // namespace occbench::commands
