// SPDX-License-Identifier: Apache-2.0
// Sentences of `occbench attach` on a program, under headings: for its folder and the tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

/// What was found in a program, measured or read from a folder.
struct AttachResults {
  attach::Collected all;
  std::vector<attach::Verdict> verdicts;  ///< of each kernel
  bool is_observed = false;               ///< --observe: nothing was changed
  bool has_caps = false;                  ///< --registers: caps were tried
  std::optional<bool> is_same_output;     ///< with caps; of --check-output
};

/// Numbers of kernels, most GPU time first.
using KernelIndices = std::vector<std::size_t>;

/// Their share of the GPU time.
[[nodiscard]] double share_of(const AttachResults& found, const KernelIndices& kernels);

/// Sentences, the most GPU time first. explain shows headings in this order.
struct Heading {
  std::string title;
  std::vector<std::string> sentences;
};
/// Those that have a sentence.
[[nodiscard]] std::vector<Heading> headings_of(const AttachResults& found);

/// A few sentences on the program: its time, how much occupancy matters, and how much was judged.
[[nodiscard]] std::string whole_program(const AttachResults& found);

/// "11,915 launches of 62 kernels in 1 process, 3.10 s of GPU time"
[[nodiscard]] std::string summary_of(const attach::Collected& all);

/// Kernels that were skipped for one reason.
struct SkipGroup {
  std::string why;
  std::size_t kernels = 0;
  double share = 0;  ///< of GPU time
};
/// The most GPU time first.
[[nodiscard]] std::vector<SkipGroup> skipped_of(const AttachResults& found);

}  // namespace occbench::commands
