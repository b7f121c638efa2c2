// SPDX-License-Identifier: Apache-2.0
// A run from its open folder to its exit code.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/commands/run/options.hpp"
#include "benchmarks/commands/run/target.hpp"
#include "benchmarks/framework/background_predictor.hpp"
#include "benchmarks/framework/benchmark_flags.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/findings/findings.hpp"
#include "benchmarks/report/listing.hpp"
#include "benchmarks/report/progress.hpp"
#include "harness/measure/runner.hpp"
#include "harness/record/record.hpp"

namespace occbench::commands {

/// What the user asked for. --resume replaces most options by those of its run.
struct Request {
  RunOptions options;
  BenchmarkFlags flags;
  std::string command_line;
};

/// The request on this machine.
struct Plan {
  Target target;
  Preset preset = Preset::standard;
  std::vector<CaseSpec> specs;
  std::function<bool(const std::string&)> is_selected;  ///< by --benchmark_filter, given the case_id
  std::vector<theory::Parameters> parameter_samples;    ///< for --bands
};

/// SIGINT, SIGTERM and SIGHUP end a run between two visits from now on; a second one ends it at once.
void catch_signals();

/// "MODEL of H200: nothing here was measured"
std::string banner(const Device& model);

class Measurement {
 public:
  Measurement(const Request& request, const Plan& plan, Runner& runner, Recorder& recorder,
              const Predictor& predictor, std::ostream& out);

  /// Measures the cases that have no row yet. False: a case corrupted the CUDA context.
  bool measure();
  /// Prints the summary. The exit code.
  int conclude();

 private:
  void start_stop_timer() const;
  void on_result(const CaseResult& result);
  void on_samples(std::span<const SampleRow> samples);
  void on_timeout(const Case& c);
  /// Continues the run in a new process, since a lost CUDA context stays lost, or prints how to resume.
  void resume_in_new_process(const std::string& why);
  [[nodiscard]] std::vector<std::string> resume_command() const;
  [[nodiscard]] std::vector<findings::ExperimentFindings> write_findings() const;
  void print_details(const Planned& next, const std::vector<findings::ExperimentFindings>& found);
  [[nodiscard]] int exit_code(const std::optional<Disturbance>& disturbance) const;

  const RunOptions& options_;
  const BenchmarkFlags& flags_;
  const Plan& plan_;
  const Device& device_;
  Runner& runner_;
  Recorder& recorder_;
  std::ostream& out_;
  std::vector<Case> cases_;
  std::optional<BackgroundPredictor> background_predictor_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Progress progress_;
  std::mutex mutex_;  ///< of on_result: a timeout calls it from another thread
  std::vector<CaseResult> results_;
  bool is_file_whole_ = true;  ///< of --benchmark_out
};

}  // namespace occbench::commands
