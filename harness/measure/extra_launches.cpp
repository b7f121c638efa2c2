// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/extra_launches.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <utility>

#include "harness/device/instruments.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {

ExtraLaunches::ExtraLaunches(const Stream& stream, const Device& device, const Precision& precision,
                             Timer& timer, const CounterGroups& counters, TimeSpent& time_spent)
    : stream_(stream),
      device_(device),
      precision_(precision),
      timer_(timer),
      counters_(counters),
      time_spent_(time_spent) {}

void ExtraLaunches::measure_dispatch() {
  Launch launch{.entry = instruments::resident_entry(), .block_size = 128};
  configure(launch);
  const int blocks_per_sm = api_blocks_per_sm(launch);
  launch.grid_size = 4 * blocks_per_sm * device_.sm.sm_count;
  Problem problem;
  problem.set_parameters(std::uint64_t{20'000});
  const auto launch_with = [&](Census census) { launch_kernel(launch, problem, census, stream_); };
  static_cast<void>(observe::census_of(launch.grid_size, launch_with, stream_));  // loads the code
  dispatch_ = dispatch_of(observe::census_of(launch.grid_size, launch_with, stream_), blocks_per_sm);
}

std::optional<SlotTime> ExtraLaunches::slot_time(const CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["block times"]);
  constexpr int max_blocks = 1 << 20;  // 24 MiB of records
  constexpr double tolerance = 0.05;
  // Writing its record lengthens a block by part of a microsecond: on an H200, blocks of 0.3 to 1.3 us show
  // up to 80 % residency instead of the counter's 10 %; blocks of 4.5 us agree with it within 0.3 %.
  constexpr double min_block_s = 3e-6;
  constexpr int tries = 3;  // for a clock that dips, or a kernel of two speeds
  const CaseResult& r = progress.result;
  const Case& c = r.planned;
  if (!c.spec.variant->counts_blocks || c.launch.grid_size > max_blocks) return {};
  const double block_s =
      r.time_s.median * std::min(1.0, static_cast<double>(c.wave_blocks) / c.launch.grid_size);
  if (block_s < min_block_s) return {};
  prepare_launch(c.launch, progress.timed);
  launch_kernel(c.launch, progress.warm_up, Census{}, stream_);
  for (int i = 0; i < tries; ++i) {
    double time_s = 0;
    const auto launch = [&](Census census) {
      const auto once = [&](cudaStream_t stream) { launch_on(c.launch, progress.timed, census, stream); };
      time_s = timer_.take(once, 1, c.spec.variant->l2_before, c.launch.share).front().time_s;
    };
    auto records = observe::census_of(c.launch.grid_size, launch, stream_);
    if (std::abs(time_s - r.time_s.median) <= tolerance * r.time_s.median)
      return occbench::slot_time(std::move(records), c.sm_count, c.occupancy.blocks_per_sm,
                                 c.occupancy.fraction, c.active_clusters > 0 ? Dispatch{} : dispatch_);
  }
  return {};
}

Counts ExtraLaunches::count(const CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["counters"]);
  const Case& c = progress.result.planned;
  const auto launch = [&] {
    launch_kernel(c.launch, progress.timed, Census{}, stream_);
    stream_.synchronize();
  };
  try {
    prepare_launch(c.launch, progress.timed);
    launch();  // warms the L2 for a warm case
    return counters_.count(
        [&] {
          timer_.set_l2(c.spec.variant->l2_before);
          stream_.synchronize();
        },
        launch);
  } catch (const CudaError& e) {
    if (e.context_lost()) throw;
    counters_.release();
    return {.status = std::string("its launch failed: ") + e.what()};  // the measured time stays valid
  }
}

std::optional<Energy> ExtraLaunches::energy(const CaseProgress& progress, const std::atomic<bool>& stop) {
  const ScopedTimer timer(time_spent_["energy"]);
  constexpr double warm_up_s = 0.15;  // the board's power follows a load with some delay
  const double window_s = precision_.energy_s;
  constexpr double queued_s = 40e-3;  // work in the queue: the device never waits while the counter is read
  constexpr double poll_s = 1e-3;     // the counter is updated less often
  const nvml::EnergyCounter counter(device_.uuid);
  if (!counter.joules()) return {};
  const Case& c = progress.result.planned;
  prepare_launch(c.launch, progress.timed);
  const auto ahead =
      static_cast<std::size_t>(std::clamp(queued_s / progress.result.time_s.median, 4.0, 1000.0));
  std::vector<Event> ends(ahead);  // of the launches in the queue, a ring
  std::uint64_t launched = 0;
  std::uint64_t ended = 0;
  const auto refill = [&] {
    while (ended < launched && ends[ended % ahead].is_over()) ++ended;
    for (; launched < ended + ahead; ++launched) {
      launch_kernel(c.launch, progress.timed, Census{}, stream_);
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
  return energy;  // nullopt if the counter did not change, or the board stayed above its limit
}

}  // namespace occbench
