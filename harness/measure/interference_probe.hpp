// SPDX-License-Identifier: Apache-2.0
// Whether another process uses the GPU, by how it slows work of our own.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/device/arena.hpp"
#include "harness/device/device.hpp"
#include "harness/device/resource.hpp"

namespace occbench {

/// Repeats a copy and arithmetic on all SMs, and compares with the fastest of the run; the copy also with
/// what any idle GPU reaches, should another process have been there from the start. Containers often hide
/// the list of processes, and a process that holds the GPU need not use it. Detects other processes' time
/// slices, and use of SMs or DRAM under MPS; not a small load that is there all the time.
class InterferenceProbe {
 public:
  InterferenceProbe(Arena& arena, const Stream& stream, const Device& device);

  /// Takes 3 ms, 10 more where a repetition is slow, and overwrites the arena's output. More repetitions see
  /// rarer time slices.
  bool is_quiet(int repetitions = 2);

  [[nodiscard]] std::size_t probes() const { return probes_; }
  [[nodiscard]] std::size_t disturbed() const { return disturbed_; }

  static constexpr double interval_s = 0.3;
  static constexpr double tolerance = 0.05;  ///< slower by more is not noise

 private:
  struct Repetition {
    double copy_s = 0;
    double cycles = 0;  ///< of the SM: independent of its clock
  };
  /// `count` back to back. `waited`: the GPU was busy before they began.
  std::vector<Repetition> run(int count, bool* waited = nullptr);
  [[nodiscard]] bool is_slow(const Repetition& r) const;
  std::ptrdiff_t count_slow(int count, bool* waited);

  static constexpr int most_repetitions = 8;

  Arena& arena_;
  const Stream& stream_;
  int blocks_;
  DeviceBuffer<unsigned long long> cycles_;
  PinnedBuffer<unsigned long long> cycles_host_;
  std::vector<Event> events_;  ///< [2 x repetition + (0 before, 1 behind its copy)], and one at the end
  Repetition fastest_;
  std::size_t probes_ = 0;
  std::size_t disturbed_ = 0;
};

}  // namespace occbench
