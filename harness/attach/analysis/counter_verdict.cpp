// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::attach {

namespace {

// Shares of a peak.
constexpr double at_limit = 0.6;   // a unit at or above this limits the kernel
constexpr double near_idle = 0.4;  // if all units are below, the kernel waits for latency

struct Unit {
  Quantity quantity{};
  double share = 0;
};

/// The unit with the largest share of its peak; nullopt if too little was sampled.
std::optional<Unit> find_busiest(const SampledCounters& counters) {
  std::optional<Unit> most;
  for (const Quantity q : {dram, l2, l1, tensor, fp32, issue})
    if (const auto share = counters.share(q);
        share && counters.us[q] >= min_us && (!most || *share > most->share))
      most = {q, *share};
  return most;
}

/// "tensor cores at 88 %"
std::string text_of(const Unit& unit) {
  char text[80];
  std::snprintf(text, sizeof text, "%s at %.0f %%", quantity_text[unit.quantity], 100 * unit.share);
  return text;
}

void judge_by_counters(const Unit& most, Verdict& v) {
  const std::string but = v.why.empty() ? "" : " (" + v.why + ")";
  const std::string unit = text_of(most);
  if (most.share >= at_limit) {
    v.finding = Finding::throughput_limit;
    v.why = unit + "; more occupancy would not help" + but;
  } else if (most.share < near_idle) {
    v.finding = Finding::latency;
    v.why = "no unit over 40 %, " + unit + ": more warps or blocks" + but;
  } else {
    v.finding = Finding::no_single_limit;
    v.why = unit + but;
  }
}

/// For a kernel that needs its warps: its busiest unit bounds the gain of more. nullopt: no step adds warps.
std::optional<bool> bound_gain(const Unit& most, Verdict& v) {
  const std::string before = v.why.empty() ? "" : v.why + "; ";
  if (most.share >= at_limit) v.why = before + text_of(most);
  if (!v.gain) return std::nullopt;
  const double left = std::max(0.0, 1 - most.share);
  if (v.gain->low <= left) return true;
  v.gain = Change{.value = left, .low = 0, .high = left};
  char most_left[40];
  std::snprintf(most_left, sizeof most_left, ": at most %.0f %% to gain", 100 * left);
  v.why = before + "but counters have " + text_of(most) + most_left;
  return false;
}

/// For a kernel that runs as fast with half of its warps: some unit should be busy.
std::optional<bool> explain_saturation(const Unit& most, Verdict& v) {
  constexpr double half = 0.5;
  if (v.saturated_to.value_or(1) > half || most.share >= near_idle) return true;
  v.why += (v.why.empty() ? "" : "; ") + std::string("but counters have no unit over 40 %, ") + text_of(most);
  return false;
}

}  // namespace

void add_counters(const SampledCounters& counters, Verdict& v) {
  const auto most = find_busiest(counters);
  if (!most) return;
  if (!is_judged(v.finding)) return judge_by_counters(*most, v);
  if (v.finding == Finding::needs_occupancy) v.has_agreement = bound_gain(*most, v);
  if (v.finding == Finding::saturated) v.has_agreement = explain_saturation(*most, v);
}

}  // namespace occbench::attach
