// SPDX-License-Identifier: Apache-2.0
// Whether something else uses the GPU, told by what it does to work of our own.
#pragma once

#include <cstddef>

#include "harness/device/arena.hpp"
#include "harness/device/resource.hpp"

namespace occbench {

/// Repeats a copy and arithmetic on all SMs and holds them against the fastest of a run's beginning. Lists of
/// processes are hidden in many a container, and a process that holds the GPU need not use it: these are
/// signs of use. Sees another's time slices and what shares SMs or DRAM under MPS; not what was there all the
/// time and shares evenly.
class Lookout {
 public:
  Lookout(Arena& arena, const Stream& stream, int sm_count);

  /// Takes 3 ms, and what the output held. `times`: more of them see shorter slices.
  bool is_quiet(int times = 2);

  [[nodiscard]] std::size_t looks() const { return looks_; }
  [[nodiscard]] std::size_t disturbed() const { return disturbed_; }

  static constexpr double interval_s = 0.3;
  static constexpr double tolerance = 0.05;  ///< slower by so much is not chance

 private:
  /// The same work, by the clock of the device or of the SM, which no lower clock makes longer.
  struct Taken {
    double copy_s = 0;
    double cycles = 0;
  };
  Taken take();

  Arena& arena_;
  const Stream& stream_;
  int blocks_;
  DeviceBuffer<unsigned long long> cycles_;
  PinnedBuffer<unsigned long long> cycles_host_;
  Event begin_, end_;
  Taken usual_;
  std::size_t looks_ = 0;
  std::size_t disturbed_ = 0;
};

}  // namespace occbench
