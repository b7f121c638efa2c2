// SPDX-License-Identifier: Apache-2.0
// Which samples of counters are of which kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/attach/preload/pm_sampler.hpp"

namespace occbench::attach {

/// A kernel's run on the device, which nothing overlapped; or those of one launch of a graph.
struct CountedRun {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::size_t signature = 0;
};

/// Adds a run; `goes_on`: of the same launch of a graph as the last one, with nothing else between.
inline void add_run(std::vector<CountedRun>& runs, const CountedRun& run, bool goes_on) {
  if (goes_on && !runs.empty() && runs.back().signature == run.signature)
    runs.back().end_ns = std::max(runs.back().end_ns, run.end_ns);
  else
    runs.push_back(run);
}

/// What samples say of one signature: their time, and per quantity the time that was sampled and the time
/// weighted by its share of the peak.
struct CounterSums {
  std::uint64_t samples = 0;
  std::array<double, quantity_count> ns{}, share_ns{};
};

inline CounterSums& sums_of(std::vector<std::pair<std::size_t, CounterSums>>& sums, std::size_t signature) {
  const auto found = std::ranges::find(sums, signature, &std::pair<std::size_t, CounterSums>::first);
  return found != sums.end() ? found->second : sums.emplace_back(signature, CounterSums{}).second;
}

/// CUPTI converts the times of samples and of records to the host's clock. On an H200 both agreed within 1
/// us in 46 of 47 windows, and within this in all.
constexpr std::uint64_t clock_error_ns = 6'000;

/// Adds each sample that lies within a run whatever the clocks' error; both in the order of their times.
inline void add_samples(const std::vector<PmSample>& samples, const std::vector<CountedRun>& runs,
                        std::vector<std::pair<std::size_t, CounterSums>>& sums) {
  auto run = runs.begin();
  for (const PmSample& sample : samples) {
    while (run != runs.end() && run->end_ns < sample.end_ns + clock_error_ns) ++run;
    if (run == runs.end()) return;
    if (sample.start_ns < run->start_ns + clock_error_ns) continue;
    CounterSums& of = sums_of(sums, run->signature);
    ++of.samples;
    const auto ns = static_cast<double>(sample.end_ns - sample.start_ns);
    for (std::size_t q = 0; q < quantity_count; ++q) {
      if (!std::isfinite(sample.shares[q])) continue;
      of.ns[q] += ns;
      of.share_ns[q] += ns * sample.shares[q];
    }
  }
}

}  // namespace occbench::attach
