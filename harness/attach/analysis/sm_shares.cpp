// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/sm_shares.hpp"

#include <algorithm>
#include <cmath>

#include "harness/attach/protocol/kinds.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

namespace {

// Thresholds at about half of the SMs, relative to the change of a purely SM-bound kernel: SM-bound from
// `mostly` on; bound by a shared resource up to `hardly`.
constexpr double mostly = 0.75, hardly = 0.25;
constexpr double half = 0.5, nearly_all = 0.7;

/// By whole waves if there are few, else by the number of SMs.
double sm_bound_change(const Kernel& k, int sms) {
  const double by_sms = static_cast<double>(k.sms) / sms - 1, waves = k.waves(k.blocks_per_sm);
  if (waves >= many_waves || waves * k.sms <= sms) return by_sms;
  const double by_waves = std::ceil(waves * k.sms / sms) / std::ceil(waves) - 1;
  return by_waves > 0 ? by_waves : by_sms;
}

std::vector<SmShareResult> shares_of(const Kernel& k, const Median& untouched_time) {
  std::vector<SmShareResult> shares;
  for (const auto& [sms, arm] : k.fewer_sms)
    if (const auto time = median_of(arm.times_us))
      shares.push_back(share_found(k, sms, arm.times_us.size(), *time, untouched_time));
  std::ranges::sort(shares, std::greater<>(), &SmShareResult::sms);
  return shares;
}

/// Judges a change relative to that of a purely SM-bound kernel; unknown if it spans two findings.
SmFinding classify(const SmShareResult& share, const Change& change) {
  const double low = change.low / share.sm_bound_change, high = change.high / share.sm_bound_change;
  if (low >= mostly) return SmFinding::sm_bound;
  if (high <= hardly) return share.fits_in_one_wave ? SmFinding::small_grid : SmFinding::memory_bound;
  return low > hardly && high < mostly ? SmFinding::partly_sm_bound : SmFinding::unknown;
}

/// All arms draw launches of all kinds alike. If both quartiles give the finding of the median, it holds for
/// each kind.
bool do_quartiles_agree(const Kernel& k, const SmShareResult& share, SmFinding finding) {
  for (const double quartile : {0.25, 0.75}) {
    const double before = statistics::quantile(k.arms.at(untouched).times_us, quartile),
                 now = statistics::quantile(k.fewer_sms.at(share.sms).times_us, quartile),
                 change = now / before - 1;
    if (classify(share, {.value = change, .low = change, .high = change}) != finding) return false;
  }
  return true;
}

/// The SMs that can be spared: goes down from the highest level while each costs little.
std::optional<int> spare_of(const Kernel& k, const std::vector<SmShareResult>& shares) {
  int spare = 0;
  for (const SmShareResult& share : shares) {
    if (share.change.value > spare_cost) break;
    spare = k.sms - share.sms;
  }
  return shares.empty() ? std::nullopt : std::optional(spare);
}

}  // namespace

const char* to_string(SmFinding finding) {
  switch (finding) {
    case SmFinding::none:
      return "";
    case SmFinding::unknown:
      return "unknown";
    case SmFinding::sm_bound:
      return "SM-bound";
    case SmFinding::partly_sm_bound:
      return "partly SM-bound";
    case SmFinding::memory_bound:
      return "memory-bound";
    case SmFinding::small_grid:
      return "grid too small";
  }
  return "";
}

std::optional<SmFinding> parse_sm_finding(std::string_view words) {
  for (const SmFinding one : {SmFinding::none, SmFinding::unknown, SmFinding::sm_bound,
                              SmFinding::partly_sm_bound, SmFinding::memory_bound, SmFinding::small_grid})
    if (words == to_string(one)) return one;
  return std::nullopt;
}

SmShareResult share_found(const Kernel& k, int sms, std::size_t samples, const Median& time,
                          const Median& untouched_time) {
  return {.sms = sms,
          .samples = samples,
          .change = change_of(time, untouched_time),
          .sm_bound_change = sm_bound_change(k, sms),
          .fits_in_one_wave = k.waves(k.blocks_per_sm) * k.sms <= sms};
}

const SmShareResult* middle_share(const Kernel& k, const SmVerdict& v) {
  const auto middle = std::ranges::min_element(v.shares, {}, [&](const SmShareResult& share) {
    return std::abs(static_cast<double>(share.sms) / k.sms - half);
  });
  // With nearly all SMs, the change is too small to judge.
  return middle == v.shares.end() || middle->sms > nearly_all * k.sms ? nullptr : &*middle;
}

SmVerdict judge_sms(const Kernel& k) {
  SmVerdict v;
  if (k.fewer_sms.empty()) return v;
  v.finding = SmFinding::unknown;
  v.why = "too few launches";
  const auto untouched_arm = k.arms.find(untouched);
  const auto untouched_time =
      untouched_arm == k.arms.end() ? std::nullopt : median_of(untouched_arm->second.times_us);
  if (!untouched_time) return v;
  v.shares = shares_of(k, *untouched_time);
  const SmShareResult* const middle = middle_share(k, v);
  if (middle == nullptr) return v;
  v.why = "its interval spans two verdicts";
  const SmFinding finding = classify(*middle, middle->change);
  if (finding == SmFinding::unknown) return v;
  if (has_several_kinds(untouched_arm->second.times_us) && !do_quartiles_agree(k, *middle, finding)) {
    v.why = "several kinds of launches";
    return v;
  }
  v.finding = finding;
  v.why.clear();
  v.spare_sms = spare_of(k, v.shares);
  return v;
}

}  // namespace occbench::attach
