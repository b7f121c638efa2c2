// SPDX-License-Identifier: Apache-2.0
// Parts of `occbench attach`, by source file: apply, print, record, sm_shares, versions.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/commands/attach/options.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/attach/protocol/advice.hpp"

namespace occbench::commands {

/// --apply: alternates whole runs with fewer warps for some kernels and plain runs, and compares their
/// wall times. `program` may be empty where a folder names it. Returns the exit code of the run that
/// failed, or 0; 125 where stdout differed with the levels alone.
[[nodiscard]] int apply_levels(const AttachOptions& options, std::vector<std::string> program);

/// The table of the kernels with most GPU time, what was skipped, and the sentence for the whole program.
void print_attached(std::ostream& out, const attach::Collected& all,
                    const std::vector<attach::Verdict>& verdicts, const std::vector<double>& levels,
                    bool is_observed);

/// The results folder: kernels.csv, arms.csv, launches.csv.gz and env.json. `run` is what the command
/// knows of itself. Throws UserError(Exit::file).
void record_attached(const std::filesystem::path& folder, const attach::Collected& all,
                     const std::vector<attach::Verdict>& verdicts, const nlohmann::json& run);

/// --sms, what a part of the SMs costs: a table of the kernels that ran on fewer SMs, and how many SMs
/// the program can give away.
void print_sm_shares(std::ostream& out, const attach::Collected& all,
                     const std::vector<attach::Verdict>& verdicts);

/// "memory-bound: 64 of 132 SMs cost 4.0 % (3.6 to 4.4)", "unknown: too few launches"; empty: it never
/// ran on fewer.
[[nodiscard]] std::string sm_verdict_text(const attach::Kernel& kernel, const attach::SmVerdict& verdict);

/// "SMs that can be freed at a cost of at most 5 %: 36 of 132. ..."; empty where no launch ran on fewer.
[[nodiscard]] std::string sentence_of_spare_sms(const attach::Collected& all,
                                                const std::vector<attach::Verdict>& verdicts);

/// --registers, caps on the registers of the program's own kernels: "32,40,64", as the library reads it.
/// Throws std::invalid_argument.
[[nodiscard]] std::string caps_of(const std::string& words);

/// Writes the PTX of the program's own file into `folder`, for the library.
void write_ptx(const std::string& program, const std::filesystem::path& folder);

/// Whether a cap changed any kernel.
[[nodiscard]] bool has_versions(const attach::Collected& all);

/// Each kernel's versions with their times, and which is the fastest; `warns`: that outputs may differ.
void print_versions(std::ostream& out, const attach::Collected& all,
                    const std::vector<attach::Verdict>& verdicts, bool warns);

/// registers.csv; empty where no kernel has versions.
[[nodiscard]] std::string registers_csv(const std::vector<attach::Verdict>& verdicts);

/// "GPU busy 38 % of the 5.6 s from first launch to last, ...: launches are the bottleneck"; empty where
/// the time was not recorded.
[[nodiscard]] std::string sentence_of_time(const attach::Collected& all);

/// "GPU time with a verdict: 53.0 % by fewer warps. Without: 28.0 % one block per SM, 5.0 % unknown."
[[nodiscard]] std::string sentence_of_judged(const attach::Collected& all,
                                             const std::vector<attach::Verdict>& verdicts);

/// Which kernels --apply gives fewer warps: as named, or by the results in a folder.
struct LevelPlan {
  std::vector<attach::Advice> levels;
  std::vector<attach::Advice> unchanged;  ///< other launches of these kernels
  double expected = 0;                    ///< gain as a share of GPU time, by the folder; 0: without one
};

/// "softmax=1/2": a name's pattern and a share of the natural warps. Throws std::invalid_argument.
[[nodiscard]] LevelPlan advice_of(const std::vector<std::string>& levels);

/// The fastest level of each kernel that is faster at lower occupancy. Throws UserError where there is none.
[[nodiscard]] LevelPlan best_of(const std::filesystem::path& folder);

/// The program whose results a folder holds, with its arguments. Throws UserError where it holds none.
[[nodiscard]] std::vector<std::string> program_of(const std::filesystem::path& folder);

/// The last folder that `occbench attach -- PROGRAM` made here. Throws UserError where there is none.
[[nodiscard]] std::filesystem::path last_folder(const std::vector<std::string>& program);

}  // namespace occbench::commands
