// SPDX-License-Identifier: Apache-2.0
// Judges a kernel by the times of its arms: whether it needs its occupancy, and what more would gain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/attach/analysis/collect.hpp"

namespace occbench::attach {

// Where one verdict ends and the next begins, as parts of the time.
constexpr double worth_it = 0.03;       // from here on a next step is worth its work
constexpr double no_change = 0.01;      // below it a change does not count
constexpr double worth_saying = 0.005;  // of a whole program: a gain that must be less is only bounded
constexpr double many_waves = 10;       // from here on the last wave does not matter

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
};
/// "needs occupancy", as kernels.csv has it.
[[nodiscard]] const char* words_of(Finding finding);
/// The finding of words in kernels.csv, those that schema 6 had included; nullopt: there is none such.
[[nodiscard]] std::optional<Finding> finding_of(std::string_view words);

/// A change of the time relative to something, with its 95 % interval: 0.05 is 5 % more.
struct Change {
  double value = 0, low = 0, high = 0;
};

struct LevelFound {
  int blocks_per_sm = 0;
  double warps = 0;  ///< share of the natural ones
  std::size_t samples = 0;
  Change change;           ///< against pinned launches of natural occupancy
  Change from_untouched;   ///< against untouched launches
  double wave_change = 0;  ///< by whole waves, at a constant rate
};

struct NextStep {
  std::string needs;  ///< "2 registers fewer"; empty: nothing adds a block
  int blocks_per_sm = 0;
};

struct Verdict {
  Finding finding = Finding::unknown;
  std::string why;                     ///< of unknown and skipped ones
  std::optional<Change> l1;            ///< pinned against untouched
  std::vector<LevelFound> levels;      ///< most blocks first
  std::optional<double> saturated_to;  ///< share of the natural warps
  NextStep next;
  std::optional<Change> gain;  ///< of the time, by the next step: 0.1 is 10 % less time, -0.1 more
  theory::Limiter limiters = theory::Limiter::none;
  double occupancy = 0;
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

/// "Kernels that need occupancy hold 34 % of GPU time; ..."
[[nodiscard]] std::string sentence(const Collected& all, const std::vector<Verdict>& verdicts);

/// "Kernels that run faster with fewer warps hold 99.7 % of GPU time; ..."; empty where none does. Before the
/// command that shows it.
[[nodiscard]] std::string sentence_of_lower(const Collected& all, const std::vector<Verdict>& verdicts);

/// "CUDA graphs hold 93 % of GPU time; with 75 % of the warps ..."; empty where none was launched.
[[nodiscard]] std::string sentence_of_graphs(const Collected& all, const std::vector<Verdict>& verdicts);

}  // namespace occbench::attach
