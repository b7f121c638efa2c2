// SPDX-License-Identifier: Apache-2.0
// What the verdicts of all kernels say of the program, a sentence each.
#pragma once

#include <string>
#include <vector>

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/verdict.hpp"

namespace occbench::attach {

/// "Kernels that need occupancy hold 34 % of GPU time; ..."
[[nodiscard]] std::string sentence(const Collected& all, const std::vector<Verdict>& verdicts);

/// "Kernels that run faster with fewer warps hold 99.7 % of GPU time; ..."; empty where none does. Before the
/// command that shows it.
[[nodiscard]] std::string sentence_of_lower(const Collected& all, const std::vector<Verdict>& verdicts);

/// "CUDA graphs hold 93 % of GPU time; with 75 % of the warps ..."; empty where none was launched.
[[nodiscard]] std::string sentence_of_graphs(const Collected& all, const std::vector<Verdict>& verdicts);

}  // namespace occbench::attach
