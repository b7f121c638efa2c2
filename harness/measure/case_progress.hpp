// SPDX-License-Identifier: Apache-2.0
// A case between its first launch and its row.
#pragma once

#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/device/instruments.hpp"
#include "harness/device/launch.hpp"
#include "harness/measure/result.hpp"
#include "harness/measure/timing.hpp"

namespace occbench {

/// In this order; a `sampled` case is `sampling` again when too many of its samples are discarded.
enum class Stage {
  pending,   ///< not launched yet
  sampling,  ///< admitted, and visited once in each round
  sampled,   ///< precise, if its undecided samples count
  extra,     ///< timed; counters or energy are measured once the whole group is timed
  done,      ///< reported
};

struct CaseProgress {
  CaseResult result;
  Stage stage = Stage::pending;
  Problem warm_up;  ///< a few iterations: loads code and fills the TLBs
  Problem timed;
  std::vector<SampleRow> samples;
  std::vector<double> own_cycles;        ///< by the kernel's own clock, one per visit
  int rounds = 0;                        ///< visits so far
  int undecided = 0;                     ///< samples that may yet be discarded
  std::size_t slow_clock = 0;            ///< samples discarded for a low SM clock; of this process
  std::size_t overlapped_by_others = 0;  ///< samples discarded because another process used the GPU
  /// Of the output that the first timed launch must repeat.
  std::optional<instruments::Digest> expected_digest;
  bool is_spot_checked = false;  ///< its reference checks some outputs of each block, not all
  std::future<std::optional<std::string>> reference;  ///< what differs from it, or nothing; invalid once read
};

/// Adds one visit's samples. Once three count, one whose SM clock is lower than their median by more than
/// `clock_tolerance` is discarded.
void append_samples(CaseProgress& progress, std::span<const Sample> samples, double clock_tolerance);

/// Marks a case as noisy if too few of its samples count for an interval; the reason says why the others do
/// not. The row keeps their numbers, the samples themselves are dropped.
bool mark_if_noisy(CaseProgress& progress);

/// Configures the entry, and refills the data of a kernel with its own arguments: another case may have
/// changed either.
inline void prepare_launch(const Launch& launch, const Problem& problem) {
  configure(launch);
  if (problem.launch) problem.poison();
}

}  // namespace occbench
