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

/// A kernel's run on the device, or those of one launch of a graph.
struct CountedRun {
  static constexpr std::size_t none = SIZE_MAX;

  std::uint64_t start_ns = 0, end_ns = 0;
  std::size_t signature = none;  ///< none: it is not counted, and what it does is no other's
};

/// Adds a run; `goes_on`: of the same launch of a graph as the last one, with nothing else between.
inline void add_run(std::vector<CountedRun>& runs, const CountedRun& run, bool goes_on) {
  if (goes_on && !runs.empty() && runs.back().signature == run.signature)
    runs.back().end_ns = std::max(runs.back().end_ns, run.end_ns);
  else
    runs.push_back(run);
}

/// What samples say of one signature: per quantity the time of its runs that was sampled, and the samples'
/// time weighted by their share of the peak.
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

/// Adds each sample to the signature whose runs alone it can have seen, whatever the clocks' error. Both in
/// the order of their starts. So the runs of a kernel count as a whole, as a profiler has them, where nothing
/// runs just before or after them; else only their middle.
inline void add_samples(const std::vector<PmSample>& samples, const std::vector<CountedRun>& runs,
                        std::vector<std::pair<std::size_t, CounterSums>>& sums) {
  auto run = runs.begin();
  std::vector<CountedRun> near;
  for (const PmSample& sample : samples) {
    for (; run != runs.end() && run->start_ns < sample.end_ns + clock_error_ns; ++run) near.push_back(*run);
    std::erase_if(near, [&](const CountedRun& r) { return r.end_ns + clock_error_ns <= sample.start_ns; });
    if (near.empty()) continue;
    const std::size_t signature = near.front().signature;
    const auto is_another = [&](const CountedRun& r) { return r.signature != signature; };
    if (signature == CountedRun::none || std::ranges::any_of(near, is_another)) continue;
    CounterSums& of = sums_of(sums, signature);
    double run_ns = 0;
    for (const CountedRun& r : near) {
      const std::uint64_t from = std::max(r.start_ns, sample.start_ns),
                          to = std::min(r.end_ns, sample.end_ns);
      if (from < to) run_ns += static_cast<double>(to - from);
    }
    if (run_ns > 0) ++of.samples;
    const auto ns = static_cast<double>(sample.end_ns - sample.start_ns);
    for (std::size_t q = 0; q < quantity_count; ++q) {
      if (!std::isfinite(sample.shares[q])) continue;
      of.ns[q] += run_ns;
      of.share_ns[q] += ns * sample.shares[q];
    }
  }
}

}  // namespace occbench::attach
