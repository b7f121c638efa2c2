// SPDX-License-Identifier: Apache-2.0
// Cases in, results out: checks each against its reference, counts its residents, times it in rounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "harness/arena.hpp"
#include "harness/record.hpp"
#include "harness/timing.hpp"

namespace occbench {

/// How precisely to measure, and when to give up.
struct Precision {
  double launch_s = 1e-3;     ///< time that one launch is sized for
  double half_width = 0.005;  ///< of the median's 95 % interval, relative: the aim
  int samples_per_visit = 3;  ///< launches timed back to back each time a case has its turn
  int least_rounds = 12;      ///< visits, in random order over the group, before a case may stop
  int most_rounds = 30;       ///< the bound
  /// A sample whose SM clock is this much under its own case's median is discarded: a dip. A clock that is low
  /// throughout is no dip; the row's sm_clock_hz tells of it.
  double clock_tolerance = 0.02;
  /// Where more than this share of the samples would go, the clock wanders with the load, and all of them count.
  double most_dips = 0.1;
};

/// Owns the device for the length of a run.
class Session {
 public:
  Session(const Device& device, const Precision& precision, std::uint64_t seed);

  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const Precision& precision() const { return precision_; }
  /// Median time of an empty kernel between two events: what event timing itself costs, s. Not subtracted.
  [[nodiscard]] double empty_launch_s() const { return empty_launch_s_; }
  /// cudaMemcpy device to device between the arena's buffers, timed as a case is: bytes read plus bytes
  /// written, per s.
  [[nodiscard]] double memcpy_bytes_per_s() const { return memcpy_bytes_per_s_; }

  /// A result as soon as it is final, with the samples behind it.
  using Finished = std::function<void(const CaseResult&, std::span<const SampleRow>)>;

  /// Measures a group of cases together, visiting them in a new random order each round. Cases whose
  /// status is not `valid` are handed through. A CUDA error makes its case invalid; when it cost the
  /// context, throws UserError(Exit::some_case_failed) after that case's row. Stops between visits once
  /// `stop` is set; unfinished cases are then not reported.
  void measure(std::span<const Case> group, int repetition, const Finished& finished,
               const std::atomic<bool>& stop);

  /// Exactly `launches` launches of one case inside its NVTX range, after one warm-up outside of it: what a
  /// profiler wants. Returns the samples (no delay kernel, no flush).
  std::vector<double> launch_only(const Case& c, int launches);

 private:
  struct Course;  // one case on its way through a group

  bool admit(Course& course);
  void visit(Course& course, int round);
  [[nodiscard]] bool finish_if_done(Course& course, int round) const;
  /// Launches back to back for most of a second while the device counts its energy; nullopt where it does not.
  std::optional<Energy> energy_of(const Course& course, const std::atomic<bool>& stop);
  void summarise(CaseResult& result, std::span<const SampleRow> samples) const;

  Device device_;
  Precision precision_;
  std::mt19937_64 random_;
  Stream stream_;
  Arena arena_;
  Timer timer_;
  double empty_launch_s_ = 0;
  double memcpy_bytes_per_s_ = 0;
};

}  // namespace occbench
