// SPDX-License-Identifier: Apache-2.0
// One case in, one row out: cases.csv, samples.csv and env.json of a run folder. The columns are
// described once in results/schema.json, and a test holds this writer against it.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counters.hpp"
#include "harness/files.hpp"
#include "harness/plan.hpp"
#include "harness/residency.hpp"
#include "harness/statistics.hpp"

namespace occbench {

constexpr int schema_version = 5;

/// What a launch costs when it is one of many back to back.
struct Energy {
  double power_w = 0;       ///< mean draw of the whole board
  double per_launch_j = 0;  ///< that over the launches of a second
};

/// A case that has been measured or modelled, or that says why not.
struct CaseResult {
  Case planned;
  int repetition = 0;  ///< beyond 0 the row stands already, and only the samples are new
  std::optional<int> blocks_per_sm_api;
  std::optional<int> blocks_per_sm_resident;
  std::optional<int> clusters_resident;
  std::optional<int> idle_sms;
  std::optional<int> block_size_api;
  std::optional<SlotTime> slot_time;
  Work work;
  std::size_t samples = 0;  ///< kept
  std::size_t discarded = 0;
  bool reached_precision = false;
  statistics::MedianInterval time_s;  ///< per launch; a model's is a point
  double time_p10_s = 0;              ///< a tenth of the kept samples took no longer ...
  double time_p90_s = 0;              ///< ... and a tenth took longer: far apart when a kernel has two speeds
  double sm_clock_hz = 0;             ///< median over kept samples
  double cycles_per_pass = 0;         ///< time x SM clock over passes
  std::optional<double> own_cycles_per_pass;  ///< the same by the kernel's own clock, median over visits
  double throughput = 0;                      ///< work over median time, in the unit of the variant's ceiling
  double ceiling = 0;                         ///< same unit; 0 when there is none
  double per_cycle_per_sm = 0;                ///< byte, flop or operation
  std::optional<Energy> energy;
  Counts counts;

  /// Times and rates mean something only then.
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

std::vector<std::string> case_columns();
std::vector<std::string> case_fields(const CaseResult& result);
/// The number in one column of a case's row; 0 where the cell is empty or holds words. Throws std::logic_error on a
/// name that is no column's.
double case_number(const CaseResult& result, std::string_view column);
std::vector<std::string> sample_columns();
std::vector<std::string> sample_fields(const SampleRow& row);

/// A run folder being written. Every finished case is on disk, whole, before the next is begun; a
/// crash costs at most the cases that were still being measured, and a power cut those of a few seconds.
class Recorder {
 public:
  /// Starts a new run in `folder`. Throws UserError(Exit::file) when it already holds one, or cannot be written.
  static Recorder create(RunFolder folder, const nlohmann::json& environment);
  /// Continues the run in `folder`: cuts off a row that a crash left half-written and samples of cases that
  /// never finished. Throws UserError(Exit::file) when there is no run or it is of another schema.
  static Recorder resume(RunFolder folder);

  Recorder(Recorder&&) noexcept = default;
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder() { sync(); }

  /// Appends the samples, then the case's row. Throws UserError(Exit::file) when the disk refuses; what is on
  /// disk then still ends in a whole row.
  void append(const CaseResult& result, std::span<const SampleRow> samples);
  /// Appends samples alone: a repetition of a case whose row is written.
  void append(std::span<const SampleRow> samples);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  /// Ids of the cases whose rows were there when the run was resumed.
  [[nodiscard]] const std::set<std::string>& finished() const { return finished_; }
  /// The environment of the run as written.
  [[nodiscard]] static nlohmann::json environment_of(const std::filesystem::path& folder);

 private:
  explicit Recorder(RunFolder folder);
  void sync();

  RunFolder folder_;
  Descriptor cases_;
  Descriptor samples_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
  std::set<std::string> finished_;
};

}  // namespace occbench
