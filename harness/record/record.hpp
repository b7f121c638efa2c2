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

#include "harness/io/files.hpp"
#include "harness/measure/result.hpp"

namespace occbench {

constexpr int schema_version = 6;

std::vector<std::string> case_columns();
std::vector<std::string> case_fields(const CaseResult& result);
/// The number in one column of a case's row; 0 where the cell is empty or holds words. Throws
/// std::logic_error on a name that is no column's.
double case_number(const CaseResult& result, std::string_view column);
std::vector<std::string> sample_columns();
std::vector<std::string> sample_fields(const SampleRow& row);

/// A run folder being written. Samples are on disk as they are taken, and a row as soon as its case is done:
/// a crash costs at most a sample, and a power cut those of a few seconds.
class Recorder {
 public:
  /// Starts a new run in `folder`. Throws UserError(Exit::file) when it already holds one, or cannot be
  /// written.
  static Recorder create(RunFolder folder, const nlohmann::json& environment);
  /// Continues the run in `folder`: cuts off a row that a crash left half-written. Throws
  /// UserError(Exit::file) when there is no run or it is of another schema.
  static Recorder resume(RunFolder folder);

  Recorder(Recorder&&) noexcept = default;
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder() { sync(); }

  /// Appends the case's row, whose samples are there already. Throws UserError(Exit::file) when the disk
  /// refuses; what is on disk then still ends in a whole row.
  void append(const CaseResult& result);
  /// Appends samples, as they are taken. Throws likewise.
  void append(std::span<const SampleRow> samples);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  /// Appends `entry` to the list called `field` in env.json.
  void add_to_environment(const char* field, nlohmann::json entry);
  /// The run has come to its end: its samples are packed (samples.csv.gz), without those of cases that failed
  /// later, and nothing may be appended any more.
  void pack();
  /// Samples of cases without a row that were there when the run was resumed.
  [[nodiscard]] const std::vector<SampleRow>& unfinished() const { return unfinished_; }
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
  std::set<std::string> without_time_;  ///< cases whose samples, if they have any, stand for nothing
  std::vector<SampleRow> unfinished_;
};

}  // namespace occbench
