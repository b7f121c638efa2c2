// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/run_times.hpp"

#include <map>
#include <utility>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

/// Beginnings of one range in one process, or windows between the profiler's calls.
struct MarkSums {
  std::size_t count = 0;
  double first_s = 0, last_s = 0, sum_s = 0;
};

/// By the marks that cover the most time: a range may be pushed for a part of the program only.
void take_steps(const Collected& all, RunTimes& times) {
  std::map<std::pair<std::uint32_t, std::string>, MarkSums> marks;
  for (const Step& step : all.steps) {
    MarkSums& m = marks[{step.process, step.range}];
    if (m.count++ == 0) m.first_s = step.begin_s;
    m.last_s = step.begin_s;
    m.sum_s += step.duration_s;
  }
  double longest_s = 0;
  for (const auto& [key, m] : marks) {
    const bool is_range = !key.second.empty();
    const double covered_s = is_range ? m.last_s - m.first_s : m.sum_s;
    const std::size_t steps = is_range ? m.count - 1 : m.count;
    if (steps == 0 || covered_s <= longest_s) continue;
    longest_s = covered_s;
    times.steps = steps;
    times.step_s = covered_s / static_cast<double>(steps);
    times.range = key.second;
  }
}

/// Without the rare launch whose events lie milliseconds apart.
double mean_of(const std::vector<double>& times_us) {
  constexpr double most = 5;  // times the median
  const double median = statistics::median(times_us);
  double sum = 0;
  std::size_t count = 0;
  for (const double time : times_us)
    if (time <= most * median) sum += time, ++count;
  return sum / static_cast<double>(count);
}

}  // namespace

RunTimes times_of(const Collected& all) {
  RunTimes times;
  take_steps(all, times);
  std::vector<std::vector<double>> timed(all.kernels.size());
  for (const TimedLaunch& l : all.launches) timed[l.kernel].push_back(static_cast<double>(l.launch.time_us));
  for (std::size_t i = 0; i < timed.size(); ++i)
    if (const Kernel& k = all.kernels[i]; !timed[i].empty() && !k.is_in_graph())
      times.gpu_s += 1e-6 * mean_of(timed[i]) * static_cast<double>(k.launches - k.captured);
  constexpr double waits = 0.5;  // of the GPU time, at least: the program's steps are not the GPU's else
  if (!times.range.empty() && static_cast<double>(times.steps) * times.step_s < waits * times.gpu_s)
    times = {.unsynchronized_range = times.range, .gpu_s = times.gpu_s};
  return times;
}

}  // namespace occbench::commands
