// SPDX-License-Identifier: Apache-2.0
// What a session measures of a case beside its time, in launches of their own: blocks' times, counters,
// energy; and launches for a profiler.
#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "harness/measure/course.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {

namespace {

/// What tools that wait for it may record: `nsys -c cudaProfilerApi`, `ncu --profile-from-start off`.
struct ToolWindow {
  ToolWindow() { check(cudaProfilerStart(), "cudaProfilerStart"); }
  ~ToolWindow() { cudaProfilerStop(); }
  ToolWindow(const ToolWindow&) = delete;
  ToolWindow& operator=(const ToolWindow&) = delete;
};

}  // namespace

std::optional<SlotTime> Session::slot_time_of(const Course& course) {
  const Stopwatch watch(spent_s_["blocks' own times"]);
  constexpr int most_blocks = 1 << 20;  // 24 MiB of records
  constexpr double tolerance = 0.05;
  // A block that writes its record lives a part of a microsecond longer: on an H200 blocks of 0.3 to 1.3 us
  // read up to 80 % residency where the counter says 10, those of 4.5 us agree with it within 0.3 %.
  constexpr double least_block_s = 3e-6;
  constexpr int tries = 3;  // for a clock that dips, or a kernel of two speeds
  const CaseResult& r = course.result;
  const Case& c = r.planned;
  if (!c.spec.variant->counts_blocks || c.launch.grid_size > most_blocks) return {};
  const double block_s =
      r.time_s.median * std::min(1.0, static_cast<double>(c.wave_blocks) / c.launch.grid_size);
  if (block_s < least_block_s) return {};
  make_ready(c.launch, course.timed);
  launch_kernel(c.launch, course.warm_up, Census{}, stream_);
  for (int i = 0; i < tries; ++i) {
    double time_s = 0;
    const auto launch = [&](Census census) {
      const auto once = [&] { launch_kernel(c.launch, course.timed, census, stream_); };
      time_s = timer_.take(once, 1, c.spec.variant->l2_before).front().time_s;
    };
    auto records = observe::census_of(c.launch.grid_size, launch, stream_);
    if (std::abs(time_s - r.time_s.median) <= tolerance * r.time_s.median)
      return slot_time(std::move(records), device_.sm.sm_count, c.occupancy.blocks_per_sm,
                       c.occupancy.fraction, c.active_clusters > 0 ? Dispatch{} : dispatch_);
  }
  return {};
}

Counts Session::count(const Course& course) {
  const Stopwatch watch(spent_s_["counters"]);
  const Case& c = course.result.planned;
  const auto launch = [&] {
    launch_kernel(c.launch, course.timed, Census{}, stream_);
    stream_.synchronize();
  };
  try {
    make_ready(c.launch, course.timed);
    launch();  // where the L2 is to be warm, this warms it
    return counters_.count(
        [&] {
          timer_.set_l2(c.spec.variant->l2_before);
          stream_.synchronize();
        },
        launch);
  } catch (const CudaError& e) {
    if (e.context_lost()) throw;
    counters_.rest();
    return {.status = std::string("its launch failed: ") + e.what()};  // the case's time stands all the same
  }
}

std::optional<Energy> Session::energy_of(const Course& course, const std::atomic<bool>& stop) {
  const Stopwatch watch(spent_s_["energy"]);
  constexpr double warm_up_s = 0.15;  // the board's power follows a load with some delay
  const double window_s = precision_.energy_s;
  constexpr double queued_s = 40e-3;  // work in the queue: the device never waits while the counter is read
  constexpr double poll_s = 1e-3;     // the counter moves less often
  const nvml::EnergyCounter counter(device_.uuid);
  if (!counter.joules()) return {};
  const Case& c = course.result.planned;
  make_ready(c.launch, course.timed);
  const auto ahead =
      static_cast<std::size_t>(std::clamp(queued_s / course.result.time_s.median, 4.0, 1000.0));
  std::vector<Event> ends(ahead);  // of the launches in the queue, in turn
  std::uint64_t launched = 0;
  std::uint64_t ended = 0;
  const auto refill = [&] {
    while (ended < launched && ends[ended % ahead].is_over()) ++ended;
    for (; launched < ended + ahead; ++launched) {
      launch_kernel(c.launch, course.timed, Census{}, stream_);
      ends[launched % ahead].record(stream_);
    }
  };
  EnergySteps steps(warm_up_s, window_s, device_.nvml.power_limit_w.value_or(HUGE_VAL));
  std::optional<Energy> energy;
  const auto begin = std::chrono::steady_clock::now();
  for (double now = 0; now < 3 * (warm_up_s + window_s) && !energy && !stop;) {
    refill();
    std::this_thread::sleep_for(std::chrono::duration<double>(poll_s));
    const std::optional<double> energy_j = counter.joules();
    refill();
    now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (energy_j) energy = steps.take(*energy_j, now, ended);
  }
  stream_.synchronize();
  return energy;  // nothing when the counter stood still, or the board stayed above its limit
}

std::vector<double> Session::launch_only(const Case& c, int launches, bool mark_for_tools) {
  const Variant& variant = *c.spec.variant;
  if (!variant.user_kernel) {
    configure(c.launch);
    launch_kernel(c.launch, variant.prepare(arena_, c.shape(variant.check_iterations)), Census{}, stream_);
  }
  const Problem problem = variant.prepare(arena_, c.shape(c.iterations));
  make_ready(c.launch, problem);
  launch_kernel(c.launch, problem, Census{}, stream_);
  stream_.synchronize();
  std::vector<double> times;
  const Event start;
  const Event end;
  std::optional<ToolWindow> window;
  if (mark_for_tools) window.emplace();
  for (int i = 0; i < launches; ++i) {
    timer_.set_l2(variant.l2_before);
    {
      const observe::CaseRange range(c);  // begun before the first event: a tool takes its time over it
      start.record(stream_);
      launch_kernel(c.launch, problem, Census{}, stream_);
      end.record(stream_);
    }
    stream_.synchronize();
    times.push_back(end.seconds_since(start));
  }
  return times;
}

}  // namespace occbench
