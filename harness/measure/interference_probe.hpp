// SPDX-License-Identifier: Apache-2.0
// Whether something else uses the GPU, told by what it does to work of our own.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/device/arena.hpp"
#include "harness/device/device.hpp"
#include "harness/device/resource.hpp"

namespace occbench {

/// Repeats a copy and arithmetic on all SMs and holds them against the fastest of a run; the copy also
/// against what any GPU that is alone reaches, should the run have begun in company. Lists of processes are
/// hidden in many a container, and a process that holds the GPU need not use it: these are signs of use. Sees
/// another's time slices and what shares SMs or DRAM under MPS; not what was there all the time and takes
/// little.
class InterferenceProbe {
 public:
  InterferenceProbe(Arena& arena, const Stream& stream, const Device& device);

  /// Takes 3 ms, 10 more if there is doubt, and what the output held. `times`: more of them see rarer slices.
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
  /// `count` back to back, `most` at most. `waited`: the GPU was another's before it began.
  std::vector<Taken> take(int count, bool* waited = nullptr);
  [[nodiscard]] bool is_slow(const Taken& taken) const;

  static constexpr int most = 8;

  Arena& arena_;
  const Stream& stream_;
  int blocks_;
  DeviceBuffer<unsigned long long> cycles_;
  PinnedBuffer<unsigned long long> cycles_host_;
  std::vector<Event> events_;  ///< [2 x repetition + (0 before, 1 behind its copy)], and one at the end
  Taken usual_;
  std::size_t looks_ = 0;
  std::size_t disturbed_ = 0;
};

}  // namespace occbench
