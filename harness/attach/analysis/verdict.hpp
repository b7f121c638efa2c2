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

// Thresholds between verdicts, relative to the time.
constexpr double worth_it = 0.03;   // a next step with this gain is worth the work
constexpr double no_change = 0.01;  // smaller changes of a kernel's launches do not count

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
  // By counters, if no arm tells.
  throughput_limit,
  latency,
  no_single_limit,
};
[[nodiscard]] constexpr bool is_by_counters(Finding f) { return f >= Finding::throughput_limit; }
/// Whether there is a result by arms or counters.
[[nodiscard]] constexpr bool is_judged(Finding f) {
  return f != Finding::skipped && f != Finding::observed && f != Finding::unknown;
}
/// "needs occupancy", as in kernels.csv.
[[nodiscard]] const char* to_string(Finding finding);
/// The finding with these words in kernels.csv, including those of schema 6; nullopt if unknown.
[[nodiscard]] std::optional<Finding> parse_finding(std::string_view words);

struct LevelResult {
  int blocks_per_sm = 0;
  unsigned added_smem_bytes = 0;
  double warps = 0;  ///< share of the natural warps
  std::size_t samples = 0;
  Change change;           ///< from pinned launches at natural occupancy
  Change from_untouched;   ///< from untouched launches
  double wave_change = 0;  ///< due to whole waves, at a constant rate
};

/// A kernel recompiled with a register cap, compared with the original.
struct CapResult {
  int cap = 0, registers = 0, local_bytes = 0, blocks_per_sm = 0;
  std::size_t samples = 0;
  double median_us = 0;          ///< 0: no sample
  std::optional<Change> change;  ///< nullopt: too few launches
};

struct NextStep {
  std::string needs;  ///< "2 registers fewer"; empty if nothing adds a block
  int blocks_per_sm = 0;
};

struct Verdict {
  Finding finding = Finding::unknown;
  std::string why;                     ///< why unknown or skipped, or which threshold it is at
  std::optional<Change> l1;            ///< change of pinned from untouched
  std::vector<LevelResult> levels;     ///< most blocks first
  std::optional<double> saturated_to;  ///< share of the natural warps
  std::vector<CapResult> caps;         ///< by cap, if any were tried
  NextStep next;
  std::optional<Change> gain;  ///< time saved by the next step: 0.1 is 10 % less, -0.1 10 % more
  theory::Limiter limiters = theory::Limiter::none;
  double occupancy = 0;
  SmVerdict by_sms;
  std::optional<bool> has_agreement;  ///< between fewer warps and counters, if both tell
};

/// The slowdown with a share of the natural warps, below 1.
struct Slowdown {
  double warps = 0;
  Change change;
};

/// The gain of `next_blocks` over `natural_blocks` resident blocks per SM, extrapolated from at least one
/// level, most warps first. Never more than in proportion to the warps.
[[nodiscard]] Change gain_of(std::span<const Slowdown> levels, int natural_blocks, int next_blocks);

[[nodiscard]] Verdict judge(const Kernel& kernel, const theory::SmLimits& sm);

/// Adds the effect of whole waves to each level, and finds the fewest warps without a further slowdown.
void add_waves(const Kernel& kernel, Verdict& verdict);

/// The fastest cap that is significantly faster than the original, or null.
[[nodiscard]] const CapResult* fastest_cap(const Verdict& verdict);

/// The level with the shortest time; there must be one.
[[nodiscard]] const LevelResult& fastest_level(const Verdict& verdict);

/// Adds hardware counters: the limiting unit if no arm judges the kernel, else whether they agree with the
/// arms.
void add_counters(const SampledCounters& counters, Verdict& verdict);

// One sentence each that sums up the verdicts of all kernels.

/// "Kernels that need occupancy take 34 % of GPU time; ..."
[[nodiscard]] std::string sentence(const Collected& all, const std::vector<Verdict>& verdicts);

/// "Kernels that run faster with fewer warps take 99.7 % of GPU time; ...", printed before the command that
/// shows it; empty if there are none.
[[nodiscard]] std::string sentence_of_lower(const Collected& all, const std::vector<Verdict>& verdicts);

/// "CUDA graphs take 93 % of GPU time; with 75 % of the warps ..."; empty if none was launched.
[[nodiscard]] std::string sentence_of_graphs(const Collected& all, const std::vector<Verdict>& verdicts);

}  // namespace occbench::attach
