// SPDX-License-Identifier: Apache-2.0
#include "harness/residency.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <tuple>

namespace occbench {

namespace {

/// Times of one or more SMs, summed over places, ns; signed, for turnover may be negative.
struct Sums {
  std::int64_t active = 0;  ///< of the SM, not of its places
  std::int64_t resident = 0, ramp = 0, turnover = 0, tail = 0, imbalance = 0, unused = 0;
};

/// Adds one SM's blocks, in the order in which they began.
void add_sm(Sums& sums, std::span<const CensusRecord> blocks, int places, std::uint64_t begin_ns,
            std::uint64_t end_ns) {
  const auto since_begin = [&](std::uint64_t t) { return static_cast<std::int64_t>(t - begin_ns); };
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;  // one per place in use
  std::int64_t last_end = 0;
  for (const CensusRecord& block : blocks) {
    const std::int64_t begin = since_begin(block.begin_ns);
    const std::int64_t end = since_begin(block.end_ns);
    if (std::ssize(ends) < places) {
      sums.ramp += begin;
    } else {
      sums.turnover += begin - ends.top();
      ends.pop();
    }
    ends.push(end);
    sums.resident += end - begin;
    sums.active += std::max<std::int64_t>(0, end - std::max(begin, last_end));
    last_end = std::max(last_end, end);
  }
  const std::int64_t whole = since_begin(end_ns);
  sums.unused += (places - std::ssize(ends)) * whole;
  sums.imbalance += std::ssize(ends) * (whole - last_end);
  for (; !ends.empty(); ends.pop()) sums.tail += last_end - ends.top();
}

}  // namespace

std::optional<SlotTime> slot_time(std::vector<CensusRecord> records, int sm_count, int blocks_per_sm,
                                  double occupancy_theoretical) {
  const auto left_none = [](const CensusRecord& r) { return r.sm == ~0U || r.end_ns < r.begin_ns; };
  if (records.empty() || blocks_per_sm < 1 || std::ranges::any_of(records, left_none)) return {};
  const std::uint64_t begin_ns = std::ranges::min(records, {}, &CensusRecord::begin_ns).begin_ns;
  const std::uint64_t end_ns = std::ranges::max(records, {}, &CensusRecord::end_ns).end_ns;
  if (begin_ns == end_ns) return {};

  std::ranges::sort(records, {},
                    [](const CensusRecord& r) { return std::tuple(r.sm, r.begin_ns, r.end_ns); });
  Sums sums;
  int busy_sms = 0;  // by the numbers seen, which need not be those below sm_count
  for (auto first = records.begin(); first != records.end(); ++busy_sms) {
    const auto last = std::ranges::upper_bound(first, records.end(), first->sm, {}, &CensusRecord::sm);
    add_sm(sums, {first, last}, blocks_per_sm, begin_ns, end_ns);
    first = last;
  }
  if (busy_sms > sm_count || sums.active == 0) return {};
  const auto whole = static_cast<std::int64_t>(end_ns - begin_ns);
  sums.unused += std::int64_t{sm_count - busy_sms} * blocks_per_sm * whole;

  const double place = occupancy_theoretical / blocks_per_sm;  // of an SM's warp slots
  const auto share = [&](std::int64_t place_ns) {
    return place * static_cast<double>(place_ns) / (static_cast<double>(whole) * sm_count);
  };
  return SlotTime{.resident = place * static_cast<double>(sums.resident) / static_cast<double>(sums.active),
                  .launch = share(sums.resident),
                  .ramp = share(sums.ramp),
                  .turnover = share(sums.turnover),
                  .tail = share(sums.tail),
                  .imbalance = share(sums.imbalance),
                  .unused = share(sums.unused)};
}

}  // namespace occbench
