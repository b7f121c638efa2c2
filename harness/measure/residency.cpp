// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/residency.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>
#include <tuple>

#include "harness/statistics/statistics.hpp"

namespace occbench {

namespace {

/// One launch. Times are sums over block slots, ns, except `whole` and `active`.
struct SlotTotals {
  std::int64_t whole = 0;   ///< of the launch
  std::int64_t active = 0;  ///< summed over SMs
  int busy_sms = 0;         ///< SM numbers may exceed the count of SMs
  std::int64_t resident = 0, ramp = 0, turnover = 0, tail = 0, imbalance = 0, unused = 0;
  std::vector<double> ramps, turnovers;  ///< by the records, ns
};

/// Adds one SM's blocks, in the order in which they began.
void add_sm(SlotTotals& a, std::span<const CensusRecord> blocks, int slots, std::uint64_t launched_ns,
            const Dispatch& dispatch) {
  const auto since_launch = [&](std::uint64_t t) { return static_cast<std::int64_t>(t - launched_ns); };
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;  // one per slot in use
  std::int64_t last_end = 0;
  for (const CensusRecord& block : blocks) {
    std::int64_t begin = since_launch(block.begin_ns);
    const std::int64_t end = since_launch(block.end_ns);
    if (std::ssize(ends) < slots) {
      a.ramps.push_back(static_cast<double>(begin));
      begin = std::min(begin, dispatch.ramp_ns);
      a.ramp += begin;
    } else {
      const std::int64_t free = ends.top();
      ends.pop();
      a.turnovers.push_back(static_cast<double>(begin - free));
      const std::int64_t turnover = std::min(begin - free, dispatch.turnover_ns);
      a.turnover += turnover;
      begin = free + turnover;
    }
    ends.push(end);
    a.resident += end - begin;
    a.active += std::max<std::int64_t>(0, end - std::max(begin, last_end));
    last_end = std::max(last_end, end);
  }
  ++a.busy_sms;
  a.unused += (slots - std::ssize(ends)) * a.whole;
  a.imbalance += std::ssize(ends) * (a.whole - last_end);
  for (; !ends.empty(); ends.pop()) a.tail += last_end - ends.top();
}

std::optional<SlotTotals> slot_totals(std::vector<CensusRecord> records, int slots,
                                      const Dispatch& dispatch) {
  const auto is_unwritten = [](const CensusRecord& r) { return r.sm == ~0U || r.end_ns < r.begin_ns; };
  if (records.empty() || slots < 1 || std::ranges::any_of(records, is_unwritten)) return {};
  const std::uint64_t launched_ns = std::ranges::min(records, {}, &CensusRecord::begin_ns).begin_ns;
  const std::uint64_t ended_ns = std::ranges::max(records, {}, &CensusRecord::end_ns).end_ns;
  if (launched_ns == ended_ns) return {};

  std::ranges::sort(records, {},
                    [](const CensusRecord& r) { return std::tuple(r.sm, r.begin_ns, r.end_ns); });
  SlotTotals a;
  a.whole = static_cast<std::int64_t>(ended_ns - launched_ns);
  for (auto first = records.begin(); first != records.end();) {
    const auto last = std::ranges::upper_bound(first, records.end(), first->sm, {}, &CensusRecord::sm);
    add_sm(a, {first, last}, slots, launched_ns, dispatch);
    first = last;
  }
  return a;
}

}  // namespace

Dispatch dispatch_of(std::vector<CensusRecord> records, int blocks_per_sm) {
  constexpr double most = 0.9;
  Dispatch found;
  const auto a = slot_totals(std::move(records), blocks_per_sm, found);
  const auto quantile_ns = [](const std::vector<double>& waits) {
    return static_cast<std::int64_t>(std::max(0.0, statistics::quantile(waits, most)));
  };
  if (a && !a->ramps.empty()) found.ramp_ns = quantile_ns(a->ramps);
  if (a && !a->turnovers.empty()) found.turnover_ns = quantile_ns(a->turnovers);
  return found;
}

std::optional<SlotTime> slot_time(std::vector<CensusRecord> records, int sm_count, int blocks_per_sm,
                                  double occupancy_theoretical, const Dispatch& dispatch) {
  const auto a = slot_totals(std::move(records), blocks_per_sm, dispatch);
  if (!a || a->busy_sms > sm_count || a->active == 0) return {};
  const double slot = occupancy_theoretical / blocks_per_sm;  // of an SM's warp slots
  const auto share = [&](std::int64_t slot_ns) {
    return slot * static_cast<double>(slot_ns) / (static_cast<double>(a->whole) * sm_count);
  };
  const std::int64_t idle_sms = std::int64_t{sm_count - a->busy_sms} * blocks_per_sm * a->whole;
  return SlotTime{.resident = slot * static_cast<double>(a->resident) / static_cast<double>(a->active),
                  .launch = share(a->resident),
                  .ramp = share(a->ramp),
                  .turnover = share(a->turnover),
                  .tail = share(a->tail),
                  .imbalance = share(a->imbalance),
                  .unused = share(a->unused + idle_sms)};
}

}  // namespace occbench
