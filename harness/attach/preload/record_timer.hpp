// SPDX-License-Identifier: Apache-2.0
// Times launches by CUPTI's records of their kernels (activity.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "harness/attach/preload/counters.hpp"
#include "harness/attach/preload/intercepted_launch.hpp"
#include "harness/attach/preload/launch_times.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/overlap.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signature_table.hpp"

namespace occbench::attach {

/// Not thread-safe.
class RecordTimer {
 public:
  RecordTimer(const Options& options, const Driver& driver, RecordWriter& writer, Budget& budget,
              LaunchTimes& times, SignatureTable& signatures, Counters& counters)
      : options_(options),
        driver_(driver),
        writer_(writer),
        budget_(budget),
        times_(times),
        signatures_(signatures),
        counters_(counters) {}

  /// Called before each launch: chooses between records and events at the first, and takes new records.
  void look_after();
  /// Whether launches are timed by records now.
  [[nodiscard]] bool is_on() const { return is_on_; }
  /// Sets the launch's flags; its kernel's record will give its time.
  void start(InterceptedLaunch& intercepted);
  void await(InterceptedLaunch& intercepted, CUresult result);
  /// A graph was launched whose kernel records are for counters.
  void count_graph(const InterceptedLaunch& intercepted);
  /// Takes the last records.
  void drain();
  /// Call before the context is destroyed.
  void forget(const Context& context);
  void note_lost() noexcept;

 private:
  void choose();
  void poll(bool is_last);
  void take(const std::vector<KernelRun>& records);
  void count(const KernelRun& ran, std::size_t signature, bool goes_on);
  /// CUPTI was lost: events time launches from now on.
  void change_to_events();
  /// The launch will have no record.
  void add_none(const InterceptedLaunch& intercepted) {
    if (!intercepted.is_only_counted) times_.add_none(intercepted);
  }

  const Options& options_;
  const Driver& driver_;
  RecordWriter& writer_;
  Budget& budget_;
  LaunchTimes& times_;
  SignatureTable& signatures_;
  Counters& counters_;
  bool is_chosen_ = false, is_on_ = false;
  std::map<std::uint32_t, Pending> awaited_;             ///< by the launching call's number
  std::map<std::uint32_t, std::size_t> counted_graphs_;  ///< signatures by the launching call's number
  Overlaps overlaps_;
  double next_flush_s_ = 0, flush_pause_s_ = 1e-4;
  std::uint64_t recorded_ = 0, matched_ = 0;  ///< all kernels, and those with a pending launch
  std::uint32_t last_alone_ = 0;              ///< call of the last record; 0 if another kernel overlapped it
};

}  // namespace occbench::attach
