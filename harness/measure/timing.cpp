// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "harness/statistics/statistics.hpp"

namespace occbench {

namespace {

constexpr std::size_t max_batch = 64;
constexpr double exact_to_a_ns_s = 4e-3;  // CUDA returns a float, in ms

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Timer::Timer(const Device& device, const Stream& stream)
    : sm_count_(device.sm.sm_count),
      stream_(stream),
      flush_(2 * device.l2_bytes / sizeof(float)),
      stamps_(2 * max_batch * static_cast<std::size_t>(sm_count_)),
      stamps_host_(stamps_.size()),
      events_(2 * max_batch) {
  instruments::fill_random(flush_.data(), flush_.size(), stream_.get());
}

double Timer::clock_between(const instruments::Stamp* before, const instruments::Stamp* after) const {
  std::vector<double> clocks;
  for (int sm = 0; sm < sm_count_; ++sm)
    if (before[sm].time_ns != 0 && after[sm].time_ns > before[sm].time_ns)
      clocks.push_back(static_cast<double>(after[sm].cycles - before[sm].cycles) * 1e9 /
                       static_cast<double>(after[sm].time_ns - before[sm].time_ns));
  return clocks.empty() ? 0 : statistics::median(clocks);
}

double Timer::warm_up() {
  const auto sms = static_cast<std::size_t>(sm_count_);
  double last = 0;
  int steady = 0;
  for (int i = 0; i < 100 && steady < 5; ++i) {
    check(cudaMemsetAsync(stamps_.data(), 0, 2 * sms * sizeof(instruments::Stamp), stream_.get()));
    instruments::delay_and_stamp(stamps_.data(), sm_count_, 0, stream_.get());
    instruments::delay_and_stamp(stamps_.data() + sms, sm_count_, 10'000'000, stream_.get());
    check(cudaMemcpyAsync(stamps_host_.data(), stamps_.data(), 2 * sms * sizeof(instruments::Stamp),
                          cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    const double clock = clock_between(stamps_host_.data(), stamps_host_.data() + sms);
    steady = std::abs(clock - last) < 1e-3 * clock ? steady + 1 : 0;
    last = clock;
  }
  return last;
}

double Timer::median_of(const LaunchInto& launch, int count, L2 l2) {
  std::vector<double> times;
  for (const Sample& s : take(launch, count, l2)) times.push_back(s.time_s);
  return statistics::median(times);
}

double Timer::empty_launch() { return median_of(instruments::empty, 32, L2::warm); }

double Timer::copy(void* to, const void* from, std::size_t bytes) {
  return median_of(
      [=](cudaStream_t stream) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copying on the device");
      },
      16, L2::dirty);
}

void Timer::set_l2(L2 l2) {
  if (l2 != L2::warm)
    instruments::flush_l2(flush_.data(), flush_.size() * sizeof(float), l2 == L2::dirty, stream_.get());
}

std::vector<Sample> Timer::take(const LaunchInto& launch, int count, L2 l2, const SmShare* share) {
  const auto sms = static_cast<std::size_t>(sm_count_);
  const std::size_t n = std::min(static_cast<std::size_t>(count), max_batch);
  const std::size_t stamp_bytes = 2 * n * sms * sizeof(instruments::Stamp);
  const double started = unix_now();
  check(cudaMemsetAsync(stamps_.data(), 0, stamp_bytes, stream_.get()), "clearing the stamps");
  for (std::size_t i = 0; i < n; ++i) {
    set_l2(l2);
    instruments::delay_and_stamp(stamps_.data() + 2 * i * sms, sm_count_, delay_ns, stream_.get());
    const cudaStream_t timed = enter(share, stream_);
    events_[2 * i].record(timed);
    launch(timed);
    events_[2 * i + 1].record(timed);
    leave(share, stream_);
    instruments::delay_and_stamp(stamps_.data() + (2 * i + 1) * sms, sm_count_, 0, stream_.get());
  }
  check(cudaMemcpyAsync(stamps_host_.data(), stamps_.data(), stamp_bytes, cudaMemcpyDeviceToHost,
                        stream_.get()),
        "reading the stamps");
  stream_.synchronize();
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < n; ++i) {
    const auto* stamps = stamps_host_.data() + 2 * i * sms;
    const double time_s = events_[2 * i + 1].seconds_since(events_[2 * i]);
    if (time_s < exact_to_a_ns_s) step_ns_ = std::gcd(step_ns_, std::llround(1e9 * time_s));
    samples.push_back(
        {.time_s = time_s, .sm_clock_hz = clock_between(stamps, stamps + sms), .started_unix_s = started});
  }
  return samples;
}

}  // namespace occbench
