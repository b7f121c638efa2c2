// SPDX-License-Identifier: Apache-2.0
// The result of a case: the numbers of its row, and its samples.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/measure/counters.hpp"
#include "harness/measure/energy.hpp"
#include "harness/measure/plan.hpp"
#include "harness/measure/residency.hpp"
#include "harness/statistics/speeds.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench {

/// A measured or modelled case, or why there is no result.
struct CaseResult {
  Case planned;
  int repetition = 0;  ///< above 0 only the samples are recorded
  std::optional<int> blocks_per_sm_api;
  std::optional<int> blocks_per_sm_resident;
  std::optional<int> clusters_resident;
  std::optional<int> idle_sms;
  std::string sms_by_gpc;  ///< that the launch could use: "16+16"; empty: not requested, or unknown
  std::optional<int> block_size_api;
  std::optional<SlotTime> slot_time;
  std::string verified;  ///< the check of the timed launch: "reference" or "repeat"; empty: not launched
  Work work;
  std::size_t samples = 0;  ///< kept
  std::size_t discarded = 0;
  bool reached_precision = false;
  statistics::MedianInterval time_s;               ///< per launch; a model's is a point
  double time_p10_s = 0;                           ///< 10th percentile of the kept samples
  double time_p90_s = 0;                           ///< 90th percentile
  std::optional<statistics::TwoSpeeds> speeds;     ///< of the kept samples, s; empty: one speed
  double sm_clock_hz = 0;                          ///< median over kept samples
  double cycles_per_iteration = 0;                 ///< time x SM clock over iterations
  std::optional<double> own_cycles_per_iteration;  ///< the same by the kernel's own clock, median over visits
  double throughput = 0;        ///< work over median time, in the unit of the variant's ceiling
  double ceiling = 0;           ///< same unit; 0 when there is none
  double per_cycle_per_sm = 0;  ///< byte, flop or operation
  std::optional<Energy> energy;
  Counts counts;

  /// Otherwise times and rates mean nothing.
  [[nodiscard]] bool has_time() const {
    return planned.status == Status::valid && (samples > 0 || planned.is_modelled);
  }
};

/// One row of samples.csv.
struct SampleRow {
  std::string case_id;
  int repetition = 0;
  int round = 0;
  int sample = 0;  ///< within its case and repetition
  double time_s = 0;
  double sm_clock_hz = 0;
  bool discarded = false;
  double started_unix_s = 0;
};

}  // namespace occbench
