// SPDX-License-Identifier: Apache-2.0
// The interface that measures cases: on a GPU (Session), or by its model (ModelSession).
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

/// How precisely to measure, and when to give up. A model reads only launch_s.
struct Precision {
  double launch_s = 1e-3;     ///< time that one launch should take
  double half_width = 0.005;  ///< target: relative half-width of the median's 95 % interval
  int samples_per_round = 1;  ///< launches timed back to back in a visit
  int min_rounds = 9;         ///< rounds over all cases, one visit each, before a case may stop
  int max_rounds = 30;        ///< rounds after which a case stops
  int rounds_per_look = 3;  ///< rounds between precision checks: checking each would stop too soon by chance
  double energy_s = 0.5;    ///< time of back-to-back launches while energy is counted, if requested
  /// Discards a sample whose SM clock is this much below the median of the case's earlier samples, as by
  /// throttling. A clock that is always low shows in the row's sm_clock_hz.
  double clock_tolerance = 0.02;
};

/// Minimum rate of a device-to-device cudaMemcpy on an idle GPU, read plus written, byte/s: an H200 and an
/// H100 reach 0.89 and 0.90 of DRAM peak. 0 if the peak is unknown, and for a MIG instance, for which the
/// driver reports the whole card's.
[[nodiscard]] double least_undisturbed_copy_bytes_per_s(const Device& device);

/// Reference measurements of a device.
struct References {
  /// Median time of an empty kernel between two events: what event timing itself costs, s. Not subtracted.
  double empty_launch_s = 0;
  /// Resolution of the times (32 ns on Hopper), s. No interval is reported narrower.
  double timer_step_s = 0;
  /// cudaMemcpy device to device between the arena's buffers, timed as a case is: bytes read plus bytes
  /// written, per s.
  double memcpy_bytes_per_s = 0;
  /// Settled SM clock under almost no load, Hz.
  double sm_clock_hz = 0;
  /// Whether that copy is as fast as on an idle GPU. Only this shows a process that uses DRAM all the time.
  [[nodiscard]] bool has_undisturbed_copies(const Device& device) const {
    return memcpy_bytes_per_s >= least_undisturbed_copy_bytes_per_s(device);
  }
};

/// What disturbed or may have disturbed a run so far.
struct Disturbance {
  std::size_t launches = 0;          ///< timed and decided
  std::size_t discarded = 0;         ///< of these, because another process used the GPU
  std::size_t probes = 0;            ///< for other processes
  std::size_t disturbed_probes = 0;  ///< that found one
  bool from_the_start = false;       ///< DRAM was shared before the first case: no probe can tell
  std::string summary;               ///< one line; empty: nothing did
};

class Runner {
 public:
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const Precision& precision() const { return precision_; }
  [[nodiscard]] virtual const Arena& arena() const = 0;
  /// nullopt for a model.
  [[nodiscard]] virtual std::optional<References> references() const = 0;

  /// A result as soon as it is final, with its samples.
  using OnResult = std::function<void(const CaseResult&, std::span<const SampleRow>)>;
  /// Samples as soon as it is decided whether they count.
  using OnSamples = std::function<void(std::span<const SampleRow>)>;
  /// A case as work on it begins, and null as it ends.
  using OnCase = std::function<void(const Case*)>;

  /// Measures a group of cases, and reports cases whose status is not `valid` unchanged. Ends early once
  /// `stop` is set, without reporting unfinished cases.
  virtual void measure(std::span<const Case> group, int repetition, const OnResult& on_result,
                       const std::atomic<bool>& stop) = 0;

  void on_case(OnCase callback) { on_case_ = std::move(callback); }
  virtual void on_samples(OnSamples) {}
  /// Samples that an earlier process took of unfinished cases: measure() continues with them.
  virtual void resume_from(std::vector<SampleRow>) {}
  /// nullopt for a model.
  [[nodiscard]] virtual std::optional<Disturbance> disturbance() const { return {}; }
  /// Seconds by activity, largest first; empty for a model.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> time_spent() const { return {}; }

  /// Launches one case exactly `launches` times, for a profiler; returns each time, s. With `mark_for_tools`
  /// between cudaProfilerStart and cudaProfilerStop.
  virtual std::vector<double> launch_only(const Case& c, int launches, bool mark_for_tools) = 0;

 protected:
  Runner(const Device& device, const Precision& precision) : device_(device), precision_(precision) {}

  /// Computes throughput, ceiling and cycles from the result's work, median time and clock.
  void rate(CaseResult& result) const;

  Device device_;
  Precision precision_;
  OnCase on_case_ = [](const Case*) {};
};

}  // namespace occbench
