// SPDX-License-Identifier: Apache-2.0
// Whether another process uses the GPU, by how it slows work of our own; discards samples taken meanwhile.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "harness/device/arena.hpp"
#include "harness/device/device.hpp"
#include "harness/device/resource.hpp"
#include "harness/measure/case_progress.hpp"
#include "harness/measure/other_processes.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/time_spent.hpp"

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
  [[nodiscard]] std::size_t disturbed_probes() const { return disturbed_probes_; }

  static constexpr double interval_s = 0.3;
  static constexpr double tolerance = 0.05;  ///< slower by more is not noise

 private:
  struct Repetition {
    double copy_s = 0;
    double cycles = 0;  ///< of the SM: independent of its clock
  };
  /// `count` back to back. `waited`: the GPU was busy before they began.
  std::vector<Repetition> run(int count, bool* waited = nullptr);
  [[nodiscard]] bool is_disturbed(const Repetition& r) const;
  std::ptrdiff_t count_slow(int count, bool* waited);

  static constexpr int max_repetitions = 8;

  Arena& arena_;
  const Stream& stream_;
  int blocks_;
  DeviceBuffer<unsigned long long> cycles_;
  PinnedBuffer<unsigned long long> cycles_host_;
  std::vector<Event> events_;  ///< [2 x repetition + (0 before, 1 behind its copy)], and one at the end
  Repetition fastest_;
  std::size_t probes_ = 0;
  std::size_t disturbed_probes_ = 0;
};

/// Splits a run into batches of visits, with a probe between two. A batch's samples count when the probes
/// before it, after it and one later found the GPU quiet.
class Interference {
 public:
  Interference(Arena& arena, const Stream& stream, const Device& device, TimeSpent& time_spent);

  void begin_batch();
  [[nodiscard]] bool is_batch_full() const;
  /// The last `count` samples of `progress` belong to this batch.
  void add(CaseProgress& progress, std::size_t count);
  /// Forgets its samples: they are about to be dropped.
  void drop(CaseProgress& progress);
  /// Probes, decides on the samples of the batch before (`last`: of this one as well), hands them to
  /// `on_samples`, and begins the next batch. Returns the cases that have no undecided sample any more.
  std::vector<CaseProgress*> finish_batch(bool last, const Runner::OnSamples& on_samples);
  [[nodiscard]] bool has_undecided() const { return !undecided_.empty(); }

  [[nodiscard]] Disturbance disturbance(const References& references) const;

 private:
  struct Undecided {
    CaseProgress* progress;
    std::size_t sample;
    int batch;
  };

  const Device& device_;
  InterferenceProbe probe_;
  OtherProcesses other_processes_;
  std::vector<Undecided> undecided_;                    ///< oldest first
  std::array<bool, 3> was_quiet_ = {true, true, true};  ///< at the last three probes, the latest first
  int batch_ = 0;
  std::chrono::steady_clock::time_point batch_began_;
  std::size_t decided_samples_ = 0;
  std::size_t disturbed_samples_ = 0;
  TimeSpent& time_spent_;
};

}  // namespace occbench
