// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/counter_verdict.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace occbench::attach {

namespace {

// Of a peak.
constexpr double at_limit = 0.6;   // from here on a unit is what the kernel waits for
constexpr double near_idle = 0.4;  // all units below: it waits for latency
constexpr double surely_at = 0.8;  // more warps cannot help
constexpr double least_us = 100;   // of the kernel's runs

struct Unit {
  Quantity quantity{};
  double share = 0;
};

/// The unit with the largest share of its peak; nullopt: too little was sampled.
std::optional<Unit> busiest(const Counted& counted) {
  std::optional<Unit> most;
  for (const Quantity q : {dram, l2, l1, tensor, fp32, issue})
    if (const auto share = counted.share(q);
        share && counted.us[q] >= least_us && (!most || *share > most->share))
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
    v.why = unit + ", occupancy is not the lever" + but;
  } else if (most.share < near_idle) {
    v.finding = Finding::latency;
    v.why = "nothing over 40 %, " + unit + ": more warps or blocks" + but;
  } else {
    v.finding = Finding::no_single_limit;
    v.why = unit + but;
  }
}

/// Where arms and counters cannot both be right.
std::string contradiction(const Verdict& v, const Unit& most) {
  constexpr double half = 0.5;
  if (v.finding == Finding::needs_occupancy && most.share >= surely_at)
    return "but counters have " + text_of(most);
  if (v.finding == Finding::saturated && v.saturated_to.value_or(1) <= half && most.share < near_idle)
    return "but counters have nothing over 40 %, " + text_of(most);
  return "";
}

}  // namespace

void add_counters(const Counted& counted, Verdict& v) {
  const auto most = busiest(counted);
  if (!most) return;
  if (!is_judged(v.finding)) return judge_by_counters(*most, v);
  const std::string but = contradiction(v, *most);
  v.has_agreement = but.empty();
  if (!but.empty()) v.why += (v.why.empty() ? "" : "; ") + but;
}

}  // namespace occbench::attach
