// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/google_benchmark.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>

namespace occbench {

namespace {

// Counters of every case beside its rate: a CSV of Google Benchmark has one header for all.
constexpr std::array counter_names{"occupancy", "blocks_per_sm", "samples", "ci95_half_width", "sm_clock_hz"};

/// A case without a result has no counters: Google Benchmark's CSV reporter would end the program.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
class Csv : public benchmark::CSVReporter {
  void ReportRuns(const std::vector<Run>& reports) override {
    std::vector<Run> even = reports;
    for (Run& run : even)
      for (const char* name : counter_names) run.counters.try_emplace(name, 0.0);
    benchmark::CSVReporter::ReportRuns(even);
  }
};
#pragma GCC diagnostic pop

/// Without colours.
struct Console : benchmark::ConsoleReporter {
  Console() : ConsoleReporter(OO_None) {}
};

/// A reporter for --benchmark_out: the library does not check that the file was written.
template <class Reporter>
class InFile : public Reporter {
 public:
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  void Finalize() override {
    Reporter::Finalize();
    is_whole_ = this->GetOutputStream().flush().good();
  }
  bool is_whole_ = true;
};

/// Prints nothing: the terminal belongs to the progress line.
class Silent : public benchmark::BenchmarkReporter {
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

/// The cases that Google Benchmark asks for one by one: measured as a group when the first of it is asked
/// for.
class CaseGroups {
 public:
  CaseGroups(Runner& runner, std::vector<Case> cases, const BenchmarkRun& run)
      : runner_(runner),
        cases_(std::move(cases)),
        run_(run),
        results_(cases_.size()),
        calls_(cases_.size()) {}

  void operator()(benchmark::State& state, std::size_t index) {
    if (failure_ || *run_.stop) return state.SkipWithError("not measured: the run was ended");
    const int repetition = calls_[index]++;
    try {
      if (repetition > 0) {
        measure(index, index + 1, repetition);
      } else if (!results_[index]) {
        measure(index, std::min(index + run_.cases_per_group, cases_.size()), 0);
      }
    } catch (...) {
      failure_ = std::current_exception();  // must not cross Google Benchmark
    }
    if (!results_[index]) return state.SkipWithError("not measured: the run was ended");
    const CaseResult& r = *results_[index];
    if (r.planned.status != Status::valid) return state.SkipWithError(r.planned.reason.c_str());
    for ([[maybe_unused]] auto _ : state) state.SetIterationTime(r.time_s.median);
    const Unit unit = unit_of(r.planned.spec.variant->ceiling);
    // The two rates that every reporter of Google Benchmark knows; the label says what an item is.
    state.counters[unit == Unit::byte ? "bytes_per_second" : "items_per_second"] = r.throughput;
    state.SetLabel(std::string(rate_name(unit)));
    const std::array<double, counter_names.size()> values{
        r.planned.occupancy.fraction, static_cast<double>(r.planned.occupancy.blocks_per_sm),
        static_cast<double>(r.samples), r.samples > 0 ? r.time_s.relative_half_width() : 0, r.sm_clock_hz};
    for (std::size_t i = 0; i < values.size(); ++i) state.counters[counter_names[i]] = values[i];
  }

  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  /// Measures the cases [first, last) that have no result yet, or exactly this one again.
  void measure(std::size_t first, std::size_t last, int repetition) {
    std::vector<Case> group;
    std::map<std::string, std::size_t> index_of;
    for (std::size_t i = first; i < last; ++i)
      if (repetition > 0 || !results_[i]) {
        index_of[cases_[i].id] = i;
        group.push_back(cases_[i]);
      }
    runner_.measure(
        group, repetition,
        [&](const CaseResult& result, std::span<const SampleRow> samples) {
          results_[index_of.at(result.planned.id)] = result;
          run_.on_result(result, samples);
        },
        *run_.stop);
  }

  Runner& runner_;
  std::vector<Case> cases_;
  const BenchmarkRun& run_;
  std::vector<std::optional<CaseResult>> results_;
  std::vector<int> calls_;
  std::exception_ptr failure_;
};

}  // namespace

bool run_benchmarks(Runner& runner, const std::vector<Case>& cases, const BenchmarkRun& run) {
  std::vector<Case> selected;
  std::vector<const Case*> settled;  // nothing to launch
  for (const Case& c : cases) {
    if (c.status == Status::valid)
      selected.push_back(c);
    else
      settled.push_back(&c);
  }
  run.selected(selected.size() + settled.size());
  for (const Case* c : settled) run.on_result(CaseResult{.planned = *c}, {});
  if (selected.empty()) return true;

  CaseGroups groups(runner, selected, run);
  for (std::size_t i = 0; i < selected.size(); ++i)
    benchmark::RegisterBenchmark(selected[i].id.c_str(),
                                 [&groups, i](benchmark::State& state) { groups(state, i); })
        ->UseManualTime()
        ->Iterations(1);  // or the body would be repeated until it had taken long enough
  benchmark::AddCustomContext("source", runner.device().is_model ? "model" : "measured");
  Silent silent;
  Csv on_stdout;
  InFile<Csv> csv;
  InFile<Console> console;
  InFile<benchmark::JSONReporter> json;
  benchmark::BenchmarkReporter* in_file = nullptr;
  if (run.file_format == "csv") in_file = &csv;
  if (run.file_format == "console") in_file = &console;
  if (run.file_format == "json") in_file = &json;
  benchmark::BenchmarkReporter* display = nullptr;  // the library's own
  if (!run.report_on_stdout) display = &silent;
  if (run.csv_on_stdout) display = &on_stdout;
  // What is registered was selected by its case_id; the library would match the flag with
  // "case_id/iterations:1/..." again.
  benchmark::RunSpecifiedBenchmarks(display, in_file, ".");
  benchmark::ClearRegisteredBenchmarks();
  groups.rethrow_failure();
  return csv.is_whole() && console.is_whole() && json.is_whole();
}

}  // namespace occbench
