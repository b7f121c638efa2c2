// SPDX-License-Identifier: Apache-2.0
// Discards samples that were taken while another process used the GPU.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "harness/measure/case_progress.hpp"
#include "harness/measure/interference_probe.hpp"
#include "harness/measure/other_processes.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/time_spent.hpp"

namespace occbench {

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
