// SPDX-License-Identifier: Apache-2.0
// Writes cases.csv, samples.csv and env.json of a run folder: one row per case.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/files.hpp"
#include "harness/measure/result.hpp"

namespace occbench {

/// Writes a run folder: samples as they are taken, and a row as soon as its case is done. A crash loses at
/// most one sample, a power cut those of a few seconds.
class Recorder {
 public:
  /// Starts a new run in `folder`. Throws UserError(Exit::file) when it already holds one, or cannot be
  /// written.
  static Recorder create(RunFolder folder, const nlohmann::json& environment);
  /// Continues the run in `folder`: removes a row that a crash left incomplete. Throws
  /// UserError(Exit::file) where there is no run, its schema version differs, or a row violates the schema or
  /// has no case in `planned` (empty: any); no row is lost then.
  static Recorder resume(RunFolder folder, const std::set<std::string>& planned = {});

  Recorder(Recorder&&) noexcept = default;
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder() { sync(); }

  /// Appends the case's row, after its samples. Throws UserError(Exit::file) when that fails; the file then
  /// still ends in a whole row.
  void append(const CaseResult& result);
  /// Appends samples, as they are taken. Throws likewise.
  void append(std::span<const SampleRow> samples);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  /// Appends `entry` to the list called `field` in env.json.
  void add_to_environment(const char* field, nlohmann::json entry);
  /// Ends the run: compresses its samples (samples.csv.gz), without those of cases that failed later. Nothing
  /// may be appended any more.
  void pack();
  /// Samples of cases without a row that were there when the run was resumed.
  [[nodiscard]] const std::vector<SampleRow>& unfinished_samples() const { return unfinished_; }
  /// Ids of the cases whose rows were there when the run was resumed.
  [[nodiscard]] const std::set<std::string>& finished_cases() const { return finished_; }
  /// The environment of the run as written. Throws UserError(Exit::file) where it cannot be read, or a field
  /// has another type than in results/schema.json.
  [[nodiscard]] static nlohmann::json environment_of(const std::filesystem::path& folder);

 private:
  explicit Recorder(RunFolder folder);
  void sync();

  RunFolder folder_;
  Descriptor cases_;
  Descriptor samples_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
  std::set<std::string> finished_;
  std::set<std::string> without_time_;  ///< cases whose samples, if any, are not kept
  std::vector<SampleRow> unfinished_;
};

// Rows of cases.csv and samples.csv. results/schema.json describes the columns; a test compares.

constexpr int schema_version = 7;

std::vector<std::string> case_columns();
std::vector<std::string> case_fields(const CaseResult& result);
/// The number in one column of a case's row; 0 where the cell is empty or text. Throws
/// std::logic_error on a name that is not a column's.
double case_number(const CaseResult& result, std::string_view column);
std::vector<std::string> sample_columns();
std::vector<std::string> sample_fields(const SampleRow& row);

}  // namespace occbench
