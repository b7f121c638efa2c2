// SPDX-License-Identifier: Apache-2.0
// Times a launch and its SM clock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/device/instruments.hpp"
#include "harness/device/launch.hpp"
#include "harness/device/resource.hpp"

namespace occbench {

/// One timed launch.
struct Sample {
  double time_s = 0;          ///< between two events around the launch
  double sm_clock_hz = 0;     ///< clock cycles over global timer, median over SMs, across the launch
  double started_unix_s = 0;  ///< host time at which its batch was queued
};

/// Times launches with events behind a delay kernel, so that the launch is queued before the
/// first event is reached: plain events read 2-3 us high and scatter.
class Timer {
 public:
  Timer(const Device& device, const Stream& stream);

  /// Keeps the device busy until the SM clock has settled, at most about a second. Returns that clock, Hz.
  double warm_up();

  /// Launches into the given stream.
  using LaunchInto = std::function<void(cudaStream_t)>;

  /// Calls `launch` `count` times back to back (64 at most), with the L2 in state `l2` before each, and
  /// synchronises at the end. The times exclude the switch to a share of the SMs and back (3 us).
  std::vector<Sample> take(const LaunchInto& launch, int count, L2 l2, const SmShare* share = nullptr);

  /// Prepares the L2 for a launch, asynchronously; does nothing for L2::warm.
  void set_l2(L2 l2);

  /// Median time between two events around an empty kernel, s.
  double empty_launch();

  /// Median time of cudaMemcpyAsync of `bytes` from `from` to `to`, both on the device, s.
  double copy(void* to, const void* from, std::size_t bytes);

  /// Resolution of the times so far, s: their greatest common divisor in ns. 0 if they vary too little; CUDA
  /// guarantees half a microsecond.
  [[nodiscard]] double step_s() const { return step_ns_ > 1000 ? 0 : 1e-9 * static_cast<double>(step_ns_); }

  static constexpr std::uint64_t delay_ns = 30'000;

 private:
  double median_of(const LaunchInto& launch, int count, L2 l2);
  double clock_between(const instruments::Stamp* before, const instruments::Stamp* after) const;

  int sm_count_;
  const Stream& stream_;
  DeviceBuffer<float> flush_;
  DeviceBuffer<instruments::Stamp> stamps_;  ///< [2 x sample + (0 before, 1 after)][sm]
  PinnedBuffer<instruments::Stamp> stamps_host_;
  std::vector<Event> events_;  ///< two per sample
  std::int64_t step_ns_ = 0;
};

}  // namespace occbench
