// SPDX-License-Identifier: Apache-2.0
// Assigns samples of counters to kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "harness/attach/preload/pm_sampler.hpp"

namespace occbench::attach {

/// A run of one kernel on the device, or of the kernels of one graph launch.
struct CountedRun {
  static constexpr std::size_t none = SIZE_MAX;

  std::uint64_t start_ns = 0, end_ns = 0;
  std::size_t signature = none;  ///< none: not counted, and its samples belong to no kernel
};

/// Adds a run. `goes_on`: it continues the previous run (same graph launch, nothing in between).
inline void add_run(std::vector<CountedRun>& runs, const CountedRun& run, bool goes_on) {
  if (goes_on && !runs.empty() && runs.back().signature == run.signature)
    runs.back().end_ns = std::max(runs.back().end_ns, run.end_ns);
  else
    runs.push_back(run);
}

/// Sums over the samples of one signature, per quantity: the sampled time of its runs, and the samples' time
/// weighted by the share of the peak.
struct CounterSums {
  std::uint64_t samples = 0;
  std::array<double, quantity_count> ns{}, share_ns{};
};

struct KernelSums {
  CounterSums seen;   ///< samples that saw only its runs; of runs next to other kernels, only the middle
  CounterSums whole;  ///< the subset that covers its runs evenly, from start to end
};
using SumsOfSignatures = std::map<std::size_t, KernelSums>;

/// CUPTI converts the times of samples and records to the host's clock. On an H200 they agreed within 1 us in
/// 46 of 47 windows, and within this value in all.
constexpr std::uint64_t clock_error_ns = 6'000;

/// A sample is aligned if it begins within this time of a run's start, or ends within it of the run's end.
constexpr std::uint64_t alignment_ns = 1'000;

/// A run, with the times at which the nearest runs of other signatures end before it and start after it.
struct PlacedRun : CountedRun {
  std::uint64_t others_end_ns = 0, others_start_ns = UINT64_MAX;

  /// Whether no sample can see both this run and another kernel's, despite the clocks' error.
  [[nodiscard]] bool is_free(std::uint64_t sample_ns) const {
    const std::uint64_t gap = sample_ns + clock_error_ns;
    return others_end_ns + gap <= start_ns && end_ns + gap <= others_start_ns;
  }
};

/// `runs` are sorted by start.
inline std::vector<PlacedRun> place(const std::vector<CountedRun>& runs) {
  std::vector<PlacedRun> placed;
  for (const CountedRun& run : runs) placed.push_back({run});
  // `outer`: the signature with the outermost time; `others_*`: the outermost of all others.
  std::size_t outer = CountedRun::none;
  std::uint64_t end = 0, others_end = 0;
  for (PlacedRun& run : placed) {
    run.others_end_ns = run.signature == outer ? others_end : end;
    if (run.signature != outer && run.end_ns > end)
      others_end = std::exchange(end, run.end_ns), outer = run.signature;
    else
      (run.signature == outer ? end : others_end) =
          std::max(run.signature == outer ? end : others_end, run.end_ns);
  }
  outer = CountedRun::none;
  std::uint64_t start = UINT64_MAX, others_start = UINT64_MAX;
  for (PlacedRun& run : placed | std::views::reverse) {
    run.others_start_ns = run.signature == outer ? others_start : start;
    if (run.signature != outer) others_start = start;
    start = run.start_ns, outer = run.signature;
  }
  return placed;
}

/// The time (ns) of a run between other kernels that a sample within it represents. Samples begin at any
/// phase of a run, so together they see its middle more often than its ends, where blocks start and SMs run
/// empty. Samples aligned with its start cover the first half evenly; those aligned with its end, the second
/// half.
inline double even_part_ns(const PmSample& sample, const CountedRun& run) {
  const std::uint64_t length = sample.end_ns - sample.start_ns;
  if (length == 0 || sample.start_ns + alignment_ns < run.start_ns ||
      run.end_ns + alignment_ns < sample.end_ns)
    return 0;
  const std::uint64_t middle = run.start_ns + (run.end_ns - run.start_ns) / 2;
  const auto between = [](std::uint64_t from, std::uint64_t to) {
    return from < to ? static_cast<double>(to - from) : 0.0;
  };
  double part = 0;
  if ((sample.start_ns + alignment_ns - run.start_ns) % length <= 2 * alignment_ns)
    part += between(std::max(sample.start_ns, run.start_ns), std::min(sample.end_ns, middle));
  if ((run.end_ns + alignment_ns - sample.end_ns) % length <= 2 * alignment_ns)
    part += between(std::max(sample.start_ns, middle), std::min(sample.end_ns, run.end_ns));
  return part;
}

/// Adds a sample that represents `run_ns` of a signature's runs, whose work is the GPU's in `seen_ns`.
inline void add_sample(const PmSample& sample, double run_ns, double seen_ns, CounterSums& to) {
  if (run_ns > 0) ++to.samples;
  for (std::size_t q = 0; q < quantity_count; ++q) {
    if (!std::isfinite(sample.shares[q])) continue;
    to.ns[q] += run_ns;
    to.share_ns[q] += seen_ns * sample.shares[q];
  }
}

/// Adds each sample to the only signature whose runs it can have seen, despite the clocks' error. Both lists
/// are sorted by start. Isolated runs count from start to end, as in a profiler; for runs next to other
/// kernels, KernelSums::whole gets only the samples aligned with their ends.
inline void add_samples(const std::vector<PmSample>& samples, const std::vector<CountedRun>& runs,
                        SumsOfSignatures& sums) {
  const std::vector<PlacedRun> placed = place(runs);
  auto run = placed.begin();
  std::vector<PlacedRun> near;
  for (const PmSample& sample : samples) {
    for (; run != placed.end() && run->start_ns < sample.end_ns + clock_error_ns; ++run) near.push_back(*run);
    std::erase_if(near, [&](const PlacedRun& r) { return r.end_ns + clock_error_ns <= sample.start_ns; });
    if (near.empty()) continue;
    const auto ns = static_cast<double>(sample.end_ns - sample.start_ns);
    const std::size_t signature = near.front().signature;
    double run_ns = 0;
    bool is_free = true, is_alone = signature != CountedRun::none;
    for (const PlacedRun& r : near) {
      const std::uint64_t from = std::max(r.start_ns, sample.start_ns),
                          to = std::min(r.end_ns, sample.end_ns);
      if (from < to) run_ns += static_cast<double>(to - from);
      is_alone = is_alone && r.signature == signature;
      const bool r_is_free = r.is_free(sample.end_ns - sample.start_ns);
      is_free = is_free && r_is_free;
      if (r.signature == CountedRun::none || r_is_free) continue;
      if (const double part = even_part_ns(sample, r); part > 0)
        add_sample(sample, part, part, sums[r.signature].whole);
    }
    if (!is_alone) continue;
    add_sample(sample, run_ns, ns, sums[signature].seen);
    if (is_free) add_sample(sample, run_ns, ns, sums[signature].whole);
  }
}

}  // namespace occbench::attach
