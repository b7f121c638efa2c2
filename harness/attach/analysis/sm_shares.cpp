// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/sm_shares.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "harness/attach/protocol/kinds.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t least_samples = 6;  // of an interval of 95 %
// Of the change that a kernel of the SMs alone would have, at about half of them: from here on it is bound by
// them; and up to here by something that they share.
constexpr double mostly = 0.75, hardly = 0.25;
constexpr double half = 0.5;

std::optional<statistics::MedianInterval> median_time(const std::vector<double>& times) {
  if (times.size() < least_samples) return std::nullopt;
  const auto median = statistics::median_interval(times);
  return median.median > 0 ? std::optional(median) : std::nullopt;
}

/// By whole waves where there are few, else by the number of SMs.
double change_in_full(const Kernel& k, int sms) {
  const double by_sms = static_cast<double>(k.sms) / sms - 1, waves = k.waves(k.blocks_per_sm);
  if (waves >= many_waves || waves * k.sms <= sms) return by_sms;
  const double by_waves = std::ceil(waves * k.sms / sms) / std::ceil(waves) - 1;
  return by_waves > 0 ? by_waves : by_sms;
}

std::vector<ShareFound> shares_of(const Kernel& k, const statistics::MedianInterval& untouched_time) {
  std::vector<ShareFound> shares;
  for (const auto& [sms, arm] : k.fewer_sms) {
    const auto time = median_time(arm.times_us);
    if (!time) continue;
    const double ratio = time->median / untouched_time.median,
                 error = std::hypot(time->relative_half_width(), untouched_time.relative_half_width());
    shares.push_back(
        {.sms = sms,
         .samples = arm.times_us.size(),
         .change = {.value = ratio - 1, .low = ratio * (1 - error) - 1, .high = ratio * (1 + error) - 1},
         .in_full = change_in_full(k, sms),
         .is_stacked = k.waves(k.blocks_per_sm) * k.sms <= sms});
  }
  std::ranges::sort(shares, std::greater<>(), &ShareFound::sms);
  return shares;
}

/// Of levels from the highest on, as long as each costs little.
std::optional<int> spare_of(const Kernel& k, const std::vector<ShareFound>& shares) {
  int spare = 0;
  for (const ShareFound& share : shares) {
    if (share.change.value > spare_cost) break;
    spare = k.sms - share.sms;
  }
  return shares.empty() ? std::nullopt : std::optional(spare);
}

}  // namespace

const char* words_of(SmFinding finding) {
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

SmVerdict judge_sms(const Kernel& k) {
  SmVerdict v;
  if (k.fewer_sms.empty()) return v;
  v.finding = SmFinding::unknown;
  const auto untouched_arm = k.arms.find(untouched);
  if (untouched_arm == k.arms.end()) return v;
  const auto untouched_time = median_time(untouched_arm->second.times_us);
  if (!untouched_time || are_several_kinds(untouched_arm->second.times_us)) return v;
  v.shares = shares_of(k, *untouched_time);
  v.spare_sms = spare_of(k, v.shares);
  const auto middle = std::ranges::min_element(v.shares, {}, [&](const ShareFound& share) {
    return std::abs(static_cast<double>(share.sms) / k.sms - half);
  });
  // At three quarters a change is too small to judge by.
  if (middle == v.shares.end() || middle->sms > 0.7 * k.sms) return v;
  const auto part = [&](double change) { return change / middle->in_full; };
  if (part(middle->change.low) >= mostly)
    v.finding = SmFinding::sm_bound;
  else if (part(middle->change.high) <= hardly)
    v.finding = middle->is_stacked ? SmFinding::small_grid : SmFinding::memory_bound;
  else if (part(middle->change.low) > hardly && part(middle->change.high) < mostly)
    v.finding = SmFinding::partly_sm_bound;
  return v;
}

std::string sentence_of_sms(const Collected& all, const std::vector<SmVerdict>& verdicts) {
  struct Sum {
    double us = 0, longer_us = 0;
  };
  std::map<std::pair<int, int>, Sum> by_share;  // by all SMs and the share's
  double total = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Kernel& k = all.kernels[i];
    total += k.total_us();
    for (const ShareFound& share : verdicts[i].shares) {
      Sum& sum = by_share[{k.sms, share.sms}];
      sum.us += k.total_us();
      sum.longer_us += k.total_us() * share.change.value;
    }
  }
  if (by_share.empty() || total <= 0) return "";
  std::pair<int, int> best{};
  Sum of_best;
  for (const auto& [sms, sum] : by_share)
    if (sum.longer_us <= spare_cost * sum.us &&
        (best.first == 0 || sms.first - sms.second > best.first - best.second)) {
      best = sms;
      of_best = sum;
    }
  char text[240];
  if (best.first == 0)
    std::snprintf(
        text, sizeof text,
        "SMs that can be given away for 5 %%: none of those tried, by the kernels that ran on fewer.");
  else
    std::snprintf(
        text, sizeof text,
        "SMs that can be given away for 5 %%: %d of %d. Kernels with %.0f %% of GPU time take %+.1f %% "
        "on the other %d.",
        best.first - best.second, best.first, 100 * of_best.us / total, 100 * of_best.longer_us / of_best.us,
        best.second);
  return text;
}

}  // namespace occbench::attach
