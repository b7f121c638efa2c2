// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::attach {

namespace {

constexpr double worth_saying = 0.005;  // share of the program's time: smaller gains are only bounded

double tenths(double value) { return std::round(10 * value) / 10 + 0.0; }  // never "-0.0"

}  // namespace

std::string sentence(const Collected& all, const std::vector<Verdict>& verdicts) {
  const double total = all.total_us();
  double held = 0, outside = 0, changed = 0, gain = 0, below = 0, above = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (all.kernels[i].is_graph()) continue;  // graphs have their own sentence
    const double share = total > 0 ? all.kernels[i].total_us() / total : 0;
    outside += share;
    const Finding finding = verdicts[i].finding;
    if (is_judged(finding) && !is_by_counters(finding)) changed += share;
    if (finding != Finding::needs_occupancy) continue;
    held += share;
    if (!verdicts[i].gain) continue;
    const Change& one = *verdicts[i].gain;  // its error is independent of other kernels
    gain += share * one.value;
    below = std::hypot(below, share * (one.value - one.low));
    above = std::hypot(above, share * (one.high - one.value));
  }
  const bool has_graphs = std::ranges::any_of(all.kernels, &Kernel::is_graph);
  if (changed == 0 && has_graphs && outside < worth_saying) return "";
  if (changed == 0 && std::ranges::any_of(verdicts, is_by_counters, &Verdict::finding)) return "";
  if (changed == 0)
    return std::string("No kernel") + (has_graphs ? " outside CUDA graphs" : "") +
           " has enough samples for a verdict.";
  char text[300];
  if (held == 0) {
    std::snprintf(text, sizeof text, "No judged kernel needs more occupancy; these take %.0f %% of GPU time.",
                  100 * changed);
    return text;
  }
  char next_steps[80] = ", and none has a next step";
  if (gain != 0 && gain + above < worth_saying)
    std::snprintf(next_steps, sizeof next_steps, "; their next steps would gain less than %.1f %%",
                  std::floor(1000 * (gain + above) + 1) / 10);
  else if (gain != 0)
    std::snprintf(next_steps, sizeof next_steps,
                  "; the next step in each would gain about %.1f %% (%.1f to %.1f)", 100 * gain,
                  tenths(100 * (gain - below)), 100 * (gain + above));
  std::snprintf(text, sizeof text, "Kernels that need occupancy take %.0f %% of GPU time%s.", 100 * held,
                next_steps);
  return text;
}

std::string sentence_of_lower(const Collected& all, const std::vector<Verdict>& verdicts) {
  const double total = all.total_us();
  double held = 0, gain = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Kernel& k = all.kernels[i];
    if (verdicts[i].finding != Finding::faster_at_lower_occupancy || total <= 0) continue;
    if (k.is_graph() || k.is_in_graph() || !k.after.empty()) continue;  // --apply skips split kernels
    held += k.total_us() / total;
    gain -= fastest_level(verdicts[i]).from_untouched.value * k.total_us() / total;
  }
  if (held == 0) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "Kernels that run faster with fewer warps take %.1f %% of GPU time; the best level of each "
                "would gain %.1f %%:",
                100 * held, 100 * gain);
  return text;
}

std::string sentence_of_graphs(const Collected& all, const std::vector<Verdict>& verdicts) {
  const double total = all.total_us();
  double held = 0, known = 0, warps = 0, longer = 0, error = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Kernel& k = all.kernels[i];
    if (!k.is_graph() || total <= 0) continue;
    const double share = k.total_us() / total;
    held += share;
    if (!is_judged(verdicts[i].finding) || verdicts[i].levels.empty()) continue;
    const LevelResult& first = verdicts[i].levels.front();
    known += share;
    warps = first.warps;
    longer += share * first.change.value;
    error = std::hypot(error, share * (first.change.high - first.change.low) / 2);
  }
  char text[200] = "";
  if (held > 0 && known > 0)
    std::snprintf(
        text, sizeof text,
        "CUDA graphs take %.0f %% of GPU time. With %.0f %% of the warps in all of a graph's kernels "
        "it takes %+.1f %% (%+.1f to %+.1f); judged: graphs with %.0f %%.",
        100 * held, 100 * warps, 100 * longer / known, 100 * (longer - error) / known,
        100 * (longer + error) / known, 100 * known);
  else if (held > 0)
    std::snprintf(text, sizeof text,
                  "CUDA graphs take %.0f %% of GPU time; none has enough samples for a verdict.", 100 * held);
  return text;
}

}  // namespace occbench::attach
