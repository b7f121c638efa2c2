// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/commands/attach/words.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr double mostly_idle = 0.5, mostly_busy = 0.8;  // of the time between launches
constexpr double long_gap_us = 200;      // idle per launch, longer than any launch overhead: the host is busy
constexpr double short_launch_us = 100;  // in which the wait between event and kernel is several percent
constexpr double worth_naming = 0.05;    // of GPU time
constexpr double most_of_it = 0.5;

/// What the idle time says.
std::string reason_of(double busy, double gap_us) {
  if (busy >= mostly_busy) return "kernels take the time";
  if (gap_us > long_gap_us)
    return "the host is the bottleneck; its work, copies and waits come before occupancy";
  if (busy < mostly_idle)
    return "launches are the bottleneck; CUDA graphs or larger batches come before occupancy";
  return text("CUDA graphs or larger batches could save up to %.0f %%", 100 * (1 - busy));
}

/// Of GPU time outside graphs: grids that leave SMs without a block, and those of less than one wave.
std::string sentence_of_small_grids(const Collected& all) {
  const double total = all.total_us();
  double few_blocks = 0, below_one_wave = 0;
  for (const Kernel& k : all.kernels) {
    if (k.is_graph() || k.is_in_graph() || k.sms < 1 || k.blocks_per_sm < 1) continue;
    if (k.waves(k.blocks_per_sm) < 1) below_one_wave += k.total_us() / total;
    if (k.blocks() < static_cast<std::uint64_t>(k.sms)) few_blocks += k.total_us() / total;
  }
  if (!(below_one_wave >= worth_naming)) return "";
  return " Grids of less than one wave take " + part(below_one_wave) +
         " of GPU time, those with fewer blocks "
         "than SMs " +
         part(few_blocks) +
         (below_one_wave >= most_of_it ? ": larger batches or smaller blocks would fill the GPU." : ".");
}

}  // namespace

std::string sentence_of_time(const Collected& all) {
  const ProgramTime& time = all.time;
  std::uint64_t launches = 0;
  for (const Kernel& k : all.kernels)
    if (!k.is_in_graph()) launches += k.launches - k.captured;
  // The GPU may still work after the last launch.
  const double span_s = std::max(time.launching_s, time.busy_s);
  if (span_s <= 0 || launches == 0) return "";
  const double busy = time.busy_s / span_s;
  const double gap_us = 1e6 * (span_s - time.busy_s) / static_cast<double>(launches);
  const bool are_short = 1e6 * time.busy_s < short_launch_us * static_cast<double>(launches);
  const bool is_bound =
      are_short && std::ranges::count(all.processes, "events", &AttachedProcess::timing) > 0;
  std::string line = std::string("GPU busy ") + (is_bound ? "at most " : "") + text("%.0f %%", 100 * busy) +
                     " of the " + duration(span_s) + " from first launch to last";
  if (time.wall_s > span_s) line += ", of " + duration(time.wall_s) + " in all";
  if (is_bound) line += " (events also time the wait before a kernel; --timing auto does not)";
  if (busy < mostly_busy) line += "; idle or copying for " + time_of(gap_us) + " per launch";
  return line + ": " + reason_of(busy, gap_us) + "." + sentence_of_small_grids(all);
}

namespace {

/// "28.0 % one block per SM, 5.0 % unknown", the most first; empty: nothing.
std::string parts_of(const std::map<std::string, double>& shares) {
  std::vector<std::pair<std::string, double>> most(shares.begin(), shares.end());
  std::ranges::stable_sort(most, std::greater<>(), &std::pair<std::string, double>::second);
  std::string line;
  for (const auto& [what, share] : most) line += (line.empty() ? "" : ", ") + part(share) + " " + what;
  return line;
}

/// "Both fewer warps and counters judge 9 kernels and agree in 8."; empty: of none.
std::string sentence_of_agreement(const std::vector<Verdict>& verdicts) {
  const auto both =
      std::ranges::count_if(verdicts, [](const Verdict& v) { return v.has_agreement.has_value(); });
  const auto agreed = std::ranges::count(verdicts, std::optional(true), &Verdict::has_agreement);
  if (both == 0) return "";
  return " Both fewer warps and counters judge " + count_of(static_cast<std::size_t>(both), "kernel") +
         " and agree in " + std::to_string(agreed) + ".";
}

}  // namespace

std::string sentence_of_judged(const Collected& all, const std::vector<Verdict>& verdicts) {
  const double total = all.total_us();
  if (total <= 0) return "";
  std::map<std::string, double> judged, left;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Kernel& k = all.kernels[i];
    const Verdict& v = verdicts[i];
    if (k.is_in_graph() || k.launches == k.captured) continue;
    const double share = k.total_us() / total;
    const bool is_known_by_sms =
        v.by_sms.finding != SmFinding::none && v.by_sms.finding != SmFinding::unknown;
    if (is_judged(v.finding) && !is_by_counters(v.finding))
      judged[k.is_graph() ? "by fewer warps in a whole CUDA graph" : "by fewer warps"] += share;
    else if (is_known_by_sms)
      judged["by fewer SMs"] += share;
    else if (is_judged(v.finding))
      judged[v.finding == Finding::latency ? "by counters (no unit over 40 %)" : "by counters"] += share;
    else if (v.finding == Finding::skipped)
      left[v.why] += share;
    else
      left[v.finding == Finding::unknown ? "unknown" : "not changed"] += share;
  }
  const std::string means = parts_of(judged), reasons = parts_of(left);
  return "GPU time with a verdict: " + (means.empty() ? "nothing" : means) + "." +
         (reasons.empty() ? "" : " Without: " + reasons + ".") + sentence_of_agreement(verdicts);
}

}  // namespace occbench::commands
