// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/launch_clock.hpp"

#include "harness/attach/preload/intercepted_launch.hpp"

namespace occbench::attach {

namespace {

constexpr double ns_per_s = 1e9;
constexpr std::uint64_t max_steps = 100'000;

}  // namespace

void LaunchClock::count() {
  const double now = now_s();
  if (last_launch_s_ > 0)
    writer_.add_launching_ns(static_cast<std::uint64_t>(ns_per_s * (now - last_launch_s_)));
  last_launch_s_ = now;
}

void LaunchClock::write_step(const std::string& range) { write(now_s(), 0, range); }

void LaunchClock::start_profiling() { profiled_from_s_ = last_launch_s_ = now_s(); }

void LaunchClock::stop_profiling(bool is_step) {
  if (profiled_from_s_ > 0) {
    count();
    if (is_step) write(profiled_from_s_, last_launch_s_ - profiled_from_s_, "");
  }
  profiled_from_s_ = last_launch_s_ = 0;
}

void LaunchClock::write(double begin_s, double duration_s, const std::string& range) {
  if (++steps_ > max_steps) return;
  writer_.write(StepRecord{.begin_ns = static_cast<std::int64_t>(ns_per_s * begin_s),
                           .duration_ns = static_cast<std::int64_t>(ns_per_s * duration_s),
                           .range = range});
}

}  // namespace occbench::attach
