// SPDX-License-Identifier: Apache-2.0
// Judges a kernel by the times of its arms: whether it needs its occupancy, and what more would gain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/attach/analysis/change.hpp"
#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/sm_shares.hpp"

namespace occbench::attach {

// Where one verdict ends and the next begins, as parts of the time.
constexpr double worth_it = 0.03;   // from here on a next step is worth its work
constexpr double no_change = 0.01;  // below it a change of a kernel's launches does not count

enum class Finding {
  skipped,
  observed,
  unknown,
  needs_l1,
  faster_at_lower_occupancy,
  needs_occupancy,
  waves,
  saturated,
  small_gain,
  // By counters, where no arm tells.
  throughput_limit,
  latency,
  no_single_limit,
};
[[nodiscard]] constexpr bool is_by_counters(Finding f) { return f >= Finding::throughput_limit; }
/// Whether arms or counters tell anything.
[[nodiscard]] constexpr bool is_judged(Finding f) {
  return f != Finding::skipped && f != Finding::observed && f != Finding::unknown;
}
/// "needs occupancy", as kernels.csv has it.
[[nodiscard]] const char* words_of(Finding finding);
/// The finding of words in kernels.csv, those that schema 6 had included; nullopt: there is none such.
[[nodiscard]] std::optional<Finding> finding_of(std::string_view words);

struct LevelFound {
  int blocks_per_sm = 0;
  unsigned added_smem_bytes = 0;
  double warps = 0;  ///< share of the natural ones
  std::size_t samples = 0;
  Change change;           ///< against pinned launches of natural occupancy
  Change from_untouched;   ///< against untouched launches
  double wave_change = 0;  ///< by whole waves, at a constant rate
};

/// A kernel compiled again with a cap on its registers, against the kernel as it is.
struct CapFound {
  int cap = 0, registers = 0, local_bytes = 0, blocks_per_sm = 0;
  std::size_t samples = 0;
  double median_us = 0;          ///< 0: no sample
  std::optional<Change> change;  ///< nullopt: too few launches
};

struct NextStep {
  std::string needs;  ///< "2 registers fewer"; empty: nothing adds a block
  int blocks_per_sm = 0;
};

struct Verdict {
  Finding finding = Finding::unknown;
  std::string why;                     ///< unknown or skipped, or at which threshold its figure is
  std::optional<Change> l1;            ///< pinned against untouched
  std::vector<LevelFound> levels;      ///< most blocks first
  std::optional<double> saturated_to;  ///< share of the natural warps
  std::vector<CapFound> caps;          ///< by cap, where any were tried
  NextStep next;
  std::optional<Change> gain;  ///< of the time, by the next step: 0.1 is 10 % less time, -0.1 more
  theory::Limiter limiters = theory::Limiter::none;
  double occupancy = 0;
  SmVerdict by_sms;
  std::optional<bool> has_agreement;  ///< of fewer warps and counters, where both tell
};

/// How much longer it takes with a share of its natural warps, below 1.
struct Slowdown {
  double warps = 0;
  Change change;
};

/// The gain of `next_blocks` resident blocks per SM over `natural_blocks`, extrapolated from the levels, most
/// warps first, at least one. Never more than in proportion to the warps.
[[nodiscard]] Change gain_of(std::span<const Slowdown> levels, int natural_blocks, int next_blocks);

[[nodiscard]] Verdict judge(const Kernel& kernel, const theory::SmLimits& sm);

/// Adds to each level what whole waves explain, and finds the fewest warps without a slowdown beyond that.
void add_waves(const Kernel& kernel, Verdict& verdict);

/// The fastest cap whose whole interval is below no change; null where none is.
[[nodiscard]] const CapFound* fastest_cap(const Verdict& verdict);

/// The level with the shortest time; the verdict has one.
[[nodiscard]] const LevelFound& fastest_level(const Verdict& verdict);

/// By hardware counters: which unit a kernel that no arm judges waits for; of another, whether they agree
/// with its arms.
void add_counters(const Counted& counted, Verdict& verdict);

// What the verdicts of all kernels say of the program, a sentence each.

/// "Kernels that need occupancy hold 34 % of GPU time; ..."
[[nodiscard]] std::string sentence(const Collected& all, const std::vector<Verdict>& verdicts);

/// "Kernels that run faster with fewer warps hold 99.7 % of GPU time; ..."; empty where none does. Before the
/// command that shows it.
[[nodiscard]] std::string sentence_of_lower(const Collected& all, const std::vector<Verdict>& verdicts);

/// "CUDA graphs hold 93 % of GPU time; with 75 % of the warps ..."; empty where none was launched.
[[nodiscard]] std::string sentence_of_graphs(const Collected& all, const std::vector<Verdict>& verdicts);

}  // namespace occbench::attach
