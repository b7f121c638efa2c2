// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "harness/attach/protocol/kinds.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/theory/occupancy/cliffs.hpp"

namespace occbench::attach {

namespace {

// Error of the gain's interval, relative to what warps alone could bring: holds for nine of ten of the
// suite's kernels whose highest level was hidden (attach_law_test).
constexpr double extrapolation_error = 0.25;

// Error of a ratio within one run: for two seeds of a program on an H100 the worst kernel differed by 0.23 %.
constexpr double repeat_error = 0.0025;

std::optional<Median> arm_median(const Kernel& k, int arm) {
  const auto found = k.arms.find(arm);
  return found == k.arms.end() ? std::nullopt : median_of(found->second.times_us);
}

/// The change of the time due to whole waves, if throughput were the same at any residency.
double wave_change(const Kernel& k, int blocks) {
  if (k.is_graph() || k.sms < 1 || k.blocks_per_sm < 1 || blocks < 1 ||
      k.waves(k.blocks_per_sm) >= many_waves)
    return 0;
  const double natural = std::ceil(k.waves(k.blocks_per_sm)) * k.blocks_per_sm;
  return std::ceil(k.waves(blocks)) * blocks / natural - 1;
}

std::string format_change(std::int64_t number, const char* unit, bool has_plural) {
  const std::int64_t size = std::abs(number);
  return std::to_string(size) + " " + unit + (has_plural && size != 1 ? "s" : "") +
         (number < 0 ? " fewer" : " more");
}

/// The cheapest change that allows one more resident block, relative to the kernel's use of the resource.
NextStep next_step(const Kernel& k, const theory::SmLimits& sm) {
  theory::Footprint f = k.footprint;
  f.dynamic_smem_bytes += f.static_smem_bytes;  // one combined resource here
  f.static_smem_bytes = 0;
  const theory::AllCliffs cliffs = theory::cliffs(sm, f);
  NextStep best;
  double part = 2;
  const auto offer = [&](const theory::Cliffs& dial, std::int64_t own, const char* unit, bool has_plural) {
    if (!dial.gains || own <= 0) return;
    const double change = std::abs(static_cast<double>(dial.gains->delta)) / static_cast<double>(own);
    if (change >= part) return;
    part = change;
    best = {format_change(dial.gains->delta, unit, has_plural), dial.gains->blocks_per_sm};
  };
  offer(cliffs.registers, f.registers_per_thread, "register", true);
  offer(cliffs.dynamic_smem, static_cast<std::int64_t>(f.dynamic_smem_bytes), "B shared memory", false);
  if (!best.needs.empty()) return best;
  if (const auto both = theory::gains_together(sm, f))
    return {std::to_string(-both->registers.delta) + " registers and " +
                format_change(both->dynamic_smem.delta, "B shared memory", false),
            both->registers.blocks_per_sm};
  return {};
}

std::string more_launches(double count) {
  char text[64];
  std::snprintf(text, sizeof text, "about %.0f launches more", std::max(1.0, std::ceil(count)));
  return text;
}

}  // namespace

// With fewer warps, a share of the time grows as 1 / warps. Extrapolated, it bounds the gain of more warps,
// but it shrinks as warps are added: the suite's kernels lie between that share and its square. Times that
// are not monotonic hide the share: if the first level may be no slower, the largest share of all levels
// counts, down to a quarter of the warps, where nearly every kernel is slower. The low end uses the first
// level.
Change gain_of(std::span<const Slowdown> levels, int natural_blocks, int next_blocks) {
  constexpr double fewest_warps = 0.25;
  const double step = 1 - static_cast<double>(natural_blocks) / next_blocks;
  const auto share = [](double longer, double warps) {
    return std::clamp(longer / (1 / warps - 1), 0.0, 1.0);
  };
  const auto& [warps, change] = levels.front();
  double likely = share(change.value, warps), most = share(change.high, warps);
  if (change.low <= 0)
    for (const Slowdown& level : levels.subspan(1))
      if (level.warps >= fewest_warps) likely = std::max(likely, share(level.change.value, level.warps));
  most = std::max(most, likely);
  return {.value = std::pow(likely, 1.5) * step,
          .low = (std::pow(share(change.low, warps), 2) - extrapolation_error) * step,
          .high = std::min(1.0, most + extrapolation_error) * step};
}

namespace {

struct FindingWords {
  Finding finding;
  const char* words;
  const char* retired = nullptr;  ///< until schema 6
};
constexpr FindingWords all_words[] = {
    {Finding::skipped, "skipped", "left alone"},  // retired
    {Finding::observed, ""},
    {Finding::unknown, "unknown"},
    {Finding::needs_l1, "needs L1"},
    {Finding::faster_at_lower_occupancy, "faster at lower occupancy", "faster lower"},  // retired
    {Finding::needs_occupancy, "needs occupancy"},
    {Finding::waves, "waves"},
    {Finding::saturated, "saturated"},
    {Finding::small_gain, "small gain", "helps little"},  // retired
    {Finding::throughput_limit, "throughput limit"},
    {Finding::latency, "latency"},
    {Finding::no_single_limit, "no single limit"},
};

}  // namespace

const char* to_string(Finding finding) {
  return std::ranges::find(all_words, finding, &FindingWords::finding)->words;
}

std::optional<Finding> parse_finding(std::string_view words) {
  for (const FindingWords& f : all_words)
    if (words == f.words || (f.retired != nullptr && words == f.retired)) return f.finding;
  return std::nullopt;
}

namespace {

/// The verdict before any time is known: occupancy, limiters and the next step.
Verdict describe(const Kernel& k, const theory::SmLimits& sm) {
  Verdict v;
  const theory::Occupancy o = theory::occupancy(sm, k.footprint);
  const int max_warps = sm.warp_size > 0 ? sm.max_warps_per_sm() : 0;
  const int block_warps = sm.warp_size > 0 ? theory::warps_per_block(sm, k.footprint) : 0;
  v.occupancy = max_warps > 0 ? static_cast<double>(k.blocks_per_sm) * block_warps / max_warps : 0;
  if (!o.is_launchable() || o.blocks_per_sm != k.blocks_per_sm) return v;  // the driver's answer differs
  v.limiters = o.limiters;
  v.next = next_step(k, sm);
  return v;
}

Verdict settle(Verdict v, Finding finding, std::string why = "") {
  v.finding = finding;
  v.why = std::move(why);
  return v;
}

/// The arms with fewer blocks and a median, most blocks first.
std::vector<LevelResult> levels_of(const Kernel& k, const Median& untouched_time, const Median& pinned_time) {
  std::vector<LevelResult> levels;
  for (const auto& [arm, times] : k.arms) {
    const auto time = arm < first_level ? std::nullopt : arm_median(k, arm);
    if (!time) continue;
    levels.push_back({.blocks_per_sm = times.blocks_per_sm,
                      .added_smem_bytes = times.added_smem_bytes,
                      .warps = static_cast<double>(times.blocks_per_sm) / k.blocks_per_sm,
                      .samples = times.times_us.size(),
                      .change = change_of(*time, pinned_time),
                      .from_untouched = change_of(*time, untouched_time)});
  }
  std::ranges::sort(levels, std::greater<>(), &LevelResult::blocks_per_sm);
  return levels;
}

std::vector<CapResult> caps_of(const Kernel& k) {
  std::vector<CapResult> caps;
  const auto before = median_of(k.uncapped_us);
  for (const auto& [arm, version] : k.versions) {
    CapResult& cap = caps.emplace_back(CapResult{.cap = version.cap,
                                                 .registers = version.registers,
                                                 .local_bytes = version.local_bytes,
                                                 .blocks_per_sm = version.blocks_per_sm,
                                                 .samples = version.times_us.size()});
    if (cap.samples > 0) cap.median_us = statistics::median(version.times_us);
    if (const auto now = median_of(version.times_us); now && before) cap.change = change_of(*now, *before);
  }
  return caps;
}

/// Why one median cannot describe all launches; empty if it can.
std::string several_kinds(const std::vector<double>& times) {
  char text[100] = "";
  if (const double part = spread(times); part > most_spread)
    std::snprintf(text, sizeof text, "several kinds, whose times vary by %.0f %%", 100 * part);
  else if (const double elsewhere = outlier_share(times); elsewhere > most_elsewhere)
    std::snprintf(text, sizeof text, "several kinds: %.0f %% take another time", 100 * elsewhere);
  return text;
}

bool is_highest_level_known(const Kernel& k, const std::vector<LevelResult>& levels) {
  int highest = 0;
  for (const auto& [arm, times] : k.arms)
    if (arm >= first_level) highest = std::max(highest, times.blocks_per_sm);
  return !levels.empty() && levels.front().blocks_per_sm >= highest;
}

/// Why there are too few launches.
std::string missing_launches(const Kernel& k) {
  if (k.overlapping * 2 > k.timed) return "overlaps work of other streams";
  std::size_t fewest = SIZE_MAX;
  for (const auto& [arm, times] : k.arms) fewest = std::min(fewest, times.times_us.size());
  const auto launches = static_cast<double>(k.launches);
  if (fewest == 0 || !k.arms.contains(untouched) || !k.arms.contains(pinned))
    return more_launches(std::max(6.0 * launches, 60.0));
  return more_launches(static_cast<double>(least - fewest) * (launches / static_cast<double>(fewest)));
}

/// Removes the effect of whole waves from a slowdown before its slope is judged; never increases it.
Change without_waves(const Kernel& k, const LevelResult& level) {
  const double waves = k.is_in_graph() ? 1 : 1 + std::max(0.0, level.wave_change);
  const auto without = [&](double change) {
    return change <= 0 ? change : std::max(0.0, (1 + change) / waves - 1);
  };
  return {.value = without(level.change.value),
          .low = without(level.change.low),
          .high = without(level.change.high)};
}

/// Scale of the thresholds: a kernel in a graph is judged by the graph's time.
double scale_of(const Kernel& k) { return k.is_in_graph() ? in_graph_scale : 1; }

std::vector<Slowdown> slowdowns_of(const Kernel& k, const Verdict& v) {
  std::vector<Slowdown> slowdowns;
  for (const LevelResult& level : v.levels) slowdowns.push_back({level.warps, without_waves(k, level)});
  return slowdowns;
}

/// "a step down costs 0.9 % (0.6 to 1.2), at the threshold of 1 %"; empty if it is not at the threshold.
std::string at_threshold(const char* effect, const Change& change, double threshold) {
  if (change.low - repeat_error >= threshold || change.high + repeat_error <= threshold) return "";
  char text[120];
  std::snprintf(text, sizeof text, "%s %.1f %% (%.1f to %.1f), at the threshold of %.3g %%", effect,
                100 * change.value, 100 * change.low, 100 * change.high, 100 * threshold);
  return text;
}

/// The next step's gain with the measurement's error only: Verdict::gain includes the law's error.
std::string gain_at_threshold(const Kernel& k, const Verdict& v, const std::vector<Slowdown>& slowdowns) {
  const auto gain_with = [&](double Change::*end) {
    std::vector<Slowdown> moved = slowdowns;
    for (Slowdown& s : moved) s.change.value = s.change.*end;
    return gain_of(moved, k.blocks_per_sm, v.next.blocks_per_sm).value;
  };
  return at_threshold("the next step saves",
                      {v.gain->value, gain_with(&Change::low), gain_with(&Change::high)}, worth_it);
}

/// For a saturated kernel or a small gain: names a figure that may lie beyond a threshold.
std::string why_open(const Kernel& k, const Verdict& v, const std::vector<Slowdown>& slowdowns) {
  const double worth = scale_of(k) * worth_it, none = scale_of(k) * no_change;
  std::string why = at_threshold("a step down costs", slowdowns.front().change, none);
  if (why.empty() && v.gain) why = gain_at_threshold(k, v, slowdowns);
  if (why.empty() && !v.gain) why = at_threshold("a step down costs", slowdowns.front().change, worth);
  if (why.empty()) why = at_threshold("without the L1 it takes", *v.l1, worth);
  for (const LevelResult& level : v.levels)
    if (const Change& c = level.from_untouched; why.empty() && level.change.high < 0)
      why = at_threshold("fewer warps save", {-c.value, -c.high, -c.low}, none);
  return why;
}

}  // namespace

void add_waves(const Kernel& k, Verdict& v) {
  for (LevelResult& level : v.levels) level.wave_change = wave_change(k, level.blocks_per_sm);
  for (const auto& [warps, change] : slowdowns_of(k, v)) {
    if (change.value >= scale_of(k) * no_change) break;
    v.saturated_to = warps;
  }
}

const CapResult* fastest_cap(const Verdict& v) {
  const CapResult* fastest = nullptr;
  for (const CapResult& cap : v.caps)
    if (cap.change && cap.change->high < 0 && cap.change->value < -no_change &&
        (fastest == nullptr || cap.change->value < fastest->change->value))
      fastest = &cap;
  return fastest;
}

const LevelResult& fastest_level(const Verdict& v) {
  return *std::ranges::min_element(v.levels, {},
                                   [](const LevelResult& level) { return level.from_untouched.value; });
}

namespace {

Verdict judge_by_arms(const Kernel& k, const theory::SmLimits& sm) {
  Verdict v = describe(k, sm);
  v.caps = caps_of(k);
  v.by_sms = judge_sms(k);
  if (k.skip_reason != SkipReason::none)
    return settle(v, Finding::skipped, skip_reason_text[static_cast<int>(k.skip_reason)]);
  if (k.arms.empty() || (k.is_graph() && !k.arms.contains(first_level))) return settle(v, Finding::observed);

  const auto untouched_time = arm_median(k, untouched), pinned_time = arm_median(k, pinned);
  if (untouched_time && pinned_time) {
    v.l1 = change_of(*pinned_time, *untouched_time);
    v.levels = levels_of(k, *untouched_time, *pinned_time);
    add_waves(k, v);
  }
  if (k.launches == k.captured) return settle(v, Finding::unknown, "captured into CUDA graphs");
  if (untouched_time)
    if (const std::string why = several_kinds(k.arms.at(untouched).times_us); !why.empty()) {
      v.levels.clear();
      return settle(v, Finding::unknown, why);
    }
  if (!is_highest_level_known(k, v.levels)) return settle(v, Finding::unknown, missing_launches(k));

  const double worth = scale_of(k) * worth_it, none = scale_of(k) * no_change;
  const LevelResult& first = v.levels.front();
  if (k.is_in_graph() && first.wave_change > no_change && first.change.value > none)
    return settle(v, Finding::unknown, "few waves; their effect on the graph's time is unknown");

  const std::vector<Slowdown> slowdowns = slowdowns_of(k, v);
  const Change slope = slowdowns.front().change;
  // Faster than untouched (the gain) and than pinned (else the carve-out makes it faster, not fewer warps).
  const bool lower_is_faster = std::ranges::any_of(v.levels, [&](const LevelResult& level) {
    return level.from_untouched.high < -none && level.change.high < 0;
  });
  // A wide interval on one side of the threshold suffices.
  const double error = (first.change.high - first.change.low) / 2;
  if (error > worth && slope.low < worth && !lower_is_faster)
    return settle(v, Finding::unknown,
                  more_launches(static_cast<double>(k.launches) * (std::pow(error / worth, 2) - 1)));

  if (!k.is_in_graph() && !v.next.needs.empty() && v.next.blocks_per_sm > k.blocks_per_sm)
    v.gain = gain_of(slowdowns, k.blocks_per_sm, v.next.blocks_per_sm);
  if (lower_is_faster) return settle(v, Finding::faster_at_lower_occupancy);
  if (slope.low > none && (v.gain ? v.gain->value >= worth_it : slope.value >= worth))
    return settle(
        v, Finding::needs_occupancy,
        v.gain ? gain_at_threshold(k, v, slowdowns) : at_threshold("a step down costs", slope, worth));
  if (v.l1->low > worth) return settle(v, Finding::needs_l1);
  if (first.change.value >= worth && slope.value < none) return settle(v, Finding::waves);
  return settle(v, slope.value < none ? Finding::saturated : Finding::small_gain, why_open(k, v, slowdowns));
}

}  // namespace

Verdict judge(const Kernel& k, const theory::SmLimits& sm) {
  Verdict v = judge_by_arms(k, sm);
  add_counters(k.counters(), v);
  return v;
}

}  // namespace occbench::attach
