// SPDX-License-Identifier: Apache-2.0
// Cases in, results out, whoever carries them out: a GPU (Session), or the model of one (ModelSession).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/arena.hpp"
#include "harness/measure/result.hpp"

namespace occbench {

/// How precisely to measure, and when to give up. A model reads launch_s alone.
struct Precision {
  double launch_s = 1e-3;     ///< time that one launch is sized for
  double half_width = 0.005;  ///< of the median's 95 % interval, relative: the aim
  int samples_per_visit = 1;  ///< launches timed back to back each time a case has its turn
  int least_rounds = 9;       ///< visits, one in each pass over all cases, before a case may stop
  int most_rounds = 30;       ///< the bound
  int rounds_per_look = 3;    ///< more until the next look: after each, chance would end it too soon
  double energy_s = 0.5;      ///< launches back to back while energy is counted, for the cases that want it
  /// A sample whose SM clock is this much under the median of its case's before it is discarded: a dip. A
  /// clock that is low throughout is no dip; the row's sm_clock_hz tells of it.
  double clock_tolerance = 0.02;
};

/// What cudaMemcpy on the device reaches at least where nothing shares the GPU, read plus written, byte/s:
/// it comes to 0.89 and 0.90 of DRAM's peak on an H200 and an H100. 0 where the peak is unknown, and for a
/// slice (MIG), which has its part of the DRAM while the driver names the whole card's.
[[nodiscard]] double least_copy_alone(const Device& device);

/// What is measured of a device beside the cases.
struct References {
  /// Median time of an empty kernel between two events: what event timing itself costs, s. Not subtracted.
  double empty_launch_s = 0;
  /// The steps that times come in (32 ns on Hopper), s. No interval is taken to be known better than that.
  double timer_step_s = 0;
  /// cudaMemcpy device to device between the arena's buffers, timed as a case is: bytes read plus bytes
  /// written, per s.
  double memcpy_bytes_per_s = 0;
  /// SM clock once it had settled under next to no load, Hz: what the device gives if nothing holds it back.
  double sm_clock_hz = 0;
  /// Whether that copy is as fast as on a GPU that is alone. Something that shares the DRAM all the time
  /// shows in nothing else.
  [[nodiscard]] bool copies_alone(const Device& device) const {
    return memcpy_bytes_per_s >= least_copy_alone(device);
  }
};

/// What disturbed a run so far, or may have.
struct Disturbance {
  std::size_t launches = 0;         ///< timed, and decided on
  std::size_t discarded = 0;        ///< of these, because something else used the GPU
  std::size_t looks = 0;            ///< whether it had the GPU to itself
  std::size_t disturbed_looks = 0;  ///< that found it had not
  bool from_the_start = false;      ///< something shared the DRAM before the first case: no look can tell
  std::string said;                 ///< one line; empty: nothing did
};

class Runner {
 public:
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const Precision& precision() const { return precision_; }
  [[nodiscard]] virtual const Arena& arena() const = 0;
  /// Nothing where nothing can be measured.
  [[nodiscard]] virtual std::optional<References> references() const = 0;

  /// A result as soon as it is final, with the samples behind it.
  using Finished = std::function<void(const CaseResult&, std::span<const SampleRow>)>;
  /// Samples as they are taken.
  using Taken = std::function<void(std::span<const SampleRow>)>;

  /// Told of each case whose turn begins, and of null as it ends.
  using Watch = std::function<void(const Case*)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }

  /// Carries out a group of cases; those whose status is not `valid` are handed through. Once `stop` is set
  /// it ends early, and unfinished cases are not reported.
  virtual void measure(std::span<const Case> group, int repetition, const Finished& finished,
                       const std::atomic<bool>& stop) = 0;

  /// From now on each sample goes there as soon as it is taken.
  virtual void on_samples(Taken) {}
  /// Samples that an earlier process took of cases it did not finish: measure() goes on from them.
  virtual void resume_from(std::vector<SampleRow>) {}
  /// Nothing where nothing is measured.
  [[nodiscard]] virtual std::optional<Disturbance> disturbance() const { return {}; }
  /// What the time went to so far, s, in words, largest first; empty where nothing is measured.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> spent() const { return {}; }

  /// Exactly `launches` launches of one case, and the time of each, s: what a profiler wants. With
  /// `mark_for_tools` between cudaProfilerStart and cudaProfilerStop.
  virtual std::vector<double> launch_only(const Case& c, int launches, bool mark_for_tools) = 0;

 protected:
  Runner(const Device& device, const Precision& precision) : device_(device), precision_(precision) {}

  /// Fills in what follows from the result's work, median time and clock: throughput, ceiling, cycles.
  void rate(CaseResult& result) const;

  Device device_;
  Precision precision_;
  Watch watch_ = [](const Case*) {};
};

}  // namespace occbench
