// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <occbench/program.hpp>
#include <optional>
#include <span>

#include "benchmarks/commands/attach/columns.hpp"
#include "benchmarks/commands/attach/outputs.hpp"
#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/commands/attach/program.hpp"
#include "benchmarks/commands/attach/run_times.hpp"
#include "benchmarks/commands/attach/words.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/attach/analysis/collect.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/record/build.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

struct Run : RunOutcome {
  RunTimes times;
  int pair = 0;  ///< 0: the first run, whose output is shown and whose time is not compared
  bool has_levels = false;
};

/// What is compared, the most sensitive to a small gain first. 0: unknown.
struct Metric {
  const char* name;
  const char* what;  ///< in a sentence
  const char* key;   ///< of env.json
  double (*of)(const Run&);
};
constexpr Metric metrics[] = {
    {"Step", "the step", "step_time_change", [](const Run& run) { return run.times.step_s; }},
    {"GPU time", "the GPU time", "gpu_time_change", [](const Run& run) { return run.times.gpu_s; }},
    {"Wall time", "the wall time", "wall_time_change", [](const Run& run) { return run.exit.wall_s; }},
};

/// All runs, in their order, and the kernels that the levels changed.
struct Series {
  std::vector<Run> runs;
  std::vector<attach::Kernel> changed;

  [[nodiscard]] bool has_same_output(bool has_levels) const {
    return std::ranges::all_of(
        runs, [&](const Run& run) { return run.has_levels != has_levels || run.is_same_output; });
  }
  [[nodiscard]] std::size_t successful_runs() const {
    return static_cast<std::size_t>(std::ranges::count_if(runs, &Run::has_succeeded));
  }
  /// In seconds, pair by pair, without an incomplete pair. Empty where a run lacks the metric.
  [[nodiscard]] std::vector<double> times(const Metric& metric, bool has_levels) const {
    std::vector<double> found;
    for (std::size_t i = 2; i < runs.size() && runs[i].has_succeeded(); i += 2) {
      const Run &later = runs[i], &sooner = runs[i - 1];
      if (!(metric.of(later) > 0) || !(metric.of(sooner) > 0)) return {};
      found.push_back(metric.of(later.has_levels == has_levels ? later : sooner));
    }
    return found;
  }
};

class Runner {
 public:
  Runner(std::vector<std::string> program, std::string options, std::string advice, fs::path folder,
         bool by_range)
      : program_(std::move(program)),
        options_(std::move(options)),
        advice_(std::move(advice)),
        folder_(std::move(folder)),
        by_range_(by_range),
        outputs_(folder_) {}

  /// False where the program failed: then the series ends.
  bool run(int pair, bool has_levels) {
    const fs::path notes = folder_ / "processes";
    ProgramRun what{.program = program_};
    if (pair > 0) {  // the library times launches in both runs of a pair
      fs::create_directory(notes);
      replace_file(notes / attach::advice_file, has_levels ? advice_ : "");
      what.library = library_.path();
      what.variables = {{attach::folder_variable, notes.string()}, {attach::options_variable, options_}};
      if (by_range_) what.variables.emplace_back(attach::nvtx_variable, library_.path());
    }
    Run now{outputs_.run(what, has_levels ? "with fewer warps" : "without changes"), {}, pair, has_levels};
    if (pair > 0 && now.has_succeeded()) {
      attach::Collected all = attach::collect(notes);
      now.times = times_of(all);
      if (has_levels && series_.changed.empty()) take_changed(std::move(all));
    }
    if (pair > 0) fs::remove_all(notes);
    series_.runs.push_back(now);
    return now.has_succeeded();
  }

  [[nodiscard]] Series& series() { return series_; }

 private:
  void take_changed(attach::Collected all) {
    for (const std::string& warning : all.warnings)
      print_wrapped(std::cerr, "occbench: " + printable(warning));
    std::erase_if(all.kernels, [](const attach::Kernel& kernel) { return kernel.changed == 0; });
    if (all.kernels.empty())
      throw UserError(
          Exit::usage,
          "no launch was changed: the program launched no kernel that matches and may be changed");
    series_.changed = std::move(all.kernels);
    std::ranges::stable_sort(series_.changed, std::greater<>(), &attach::Kernel::launches);
  }

  std::vector<std::string> program_;
  std::string options_, advice_;
  AttachLibrary library_;
  fs::path folder_;
  bool by_range_;
  Outputs outputs_;
  Series series_;
};

/// "-10.4", "-0.31"
std::string percent(double share) {
  return std::abs(share) < 0.01 ? text("%+.2f", 100 * share) : text("%+.1f", 100 * share);
}

/// The relative change by the levels, with its interval; nullopt where it was not measured.
std::optional<statistics::MedianInterval> change_of(const Series& series, const Metric& metric,
                                                    double confidence = statistics::confidence) {
  std::vector<double> changes = series.times(metric, true);
  const std::vector<double> plain = series.times(metric, false);
  if (changes.empty()) return std::nullopt;
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i] = changes[i] / plain[i] - 1;
  return statistics::median_interval(changes, confidence);
}

bool is_significant(const statistics::MedianInterval& change) { return change.low > 0 || change.high < 0; }

/// Whether no more pairs are needed. Stricter than the result, because it is asked after each pair.
bool is_difference_known(const Series& series) {
  constexpr double confidence = 0.99;
  for (const Metric& metric : metrics)
    if (const auto change = change_of(series, metric, confidence))
      return series.times(metric, true).size() >= statistics::min_samples(confidence) &&
             is_significant(*change);
  return false;
}

void print_changed(std::ostream& out, const Series& series) {
  constexpr std::size_t rows_shown = 10, name_room = 48;
  std::vector<csv::Row> table = {{"kernel", "blocks per SM", "launches", "with fewer warps"}};
  for (std::size_t i = 0; i < std::min(rows_shown, series.changed.size()); ++i) {
    const attach::Kernel& k = series.changed[i];
    const auto arm = k.arms.find(attach::first_level);
    const int blocks = arm == k.arms.end() ? 0 : arm->second.blocks_per_sm;
    table.push_back({printable(binary::short_name(k.name, name_room)),
                     text("%d of %d", blocks, k.blocks_per_sm), with_thousands(k.launches),
                     with_thousands(k.changed)});
  }
  out << '\n';
  print_aligned(out, table);
  if (series.changed.size() > rows_shown)
    out << "and " << with_thousands(series.changed.size() - rows_shown) << " more\n";
  out << '\n';
}

void print_pair(std::ostream& out, const Series& series, int pair, int pairs) {
  for (const Metric& metric : metrics) {
    const std::vector<double> plain = series.times(metric, false);
    if (plain.empty()) continue;
    out << "pair " << pair << " of " << (pair < pairs ? "at most " : "") << pairs << ": "
        << time_of(1e6 * plain.back()) << " plain, " << time_of(1e6 * series.times(metric, true).back())
        << " with fewer warps\n";
    return;
  }
}

/// A line per metric, and whether the first of them shows a difference.
void print_times(std::ostream& out, const Series& series) {
  std::string shown;
  if (const std::string& range = series.runs.back().times.unsynchronized_range; !range.empty())
    print_wrapped(out, "Step '" + printable(range) +
                           "' is not compared: the program begins the next one long before the GPU is done.");
  for (const Metric& metric : metrics) {
    const auto change = change_of(series, metric);
    if (!change) continue;
    const std::vector<double> plain = series.times(metric, false), lower = series.times(metric, true);
    const RunTimes& times = series.runs.back().times;
    const bool is_step = &metric == metrics, has_interval = plain.size() >= statistics::min_samples();
    const std::string what = !is_step              ? ""
                             : times.range.empty() ? " between the profiler's calls"
                                                   : " '" + printable(times.range) + "'";
    print_wrapped(out, metric.name + what + ": " + time_of(1e6 * statistics::median(plain)) + " plain, " +
                           time_of(1e6 * statistics::median(lower)) +
                           " with fewer warps: " + percent(change->median) + " % (" + percent(change->low) +
                           " to " + percent(change->high) + ", " +
                           (has_interval ? text("%.0f %% of ", 100 * statistics::confidence) : "range of ") +
                           count_of(plain.size(), "pair") + ").");
    if (shown.empty())
      shown = is_significant(*change)
                  ? "-"
                  : std::string("Not shown by ") + metric.what + ": 0 lies in its interval.\n";
  }
  if (shown != "-") out << shown;
}

void print_result(std::ostream& out, const Series& series, double expected) {
  print_times(out, series);
  if (expected != 0) out << "Expected by single launches: " << percent(-expected) << " % of GPU time.\n";
  if (!series.has_same_output(false))
    out << "stdout differs between plain runs, so that it says nothing of the levels.\n";
  else if (series.has_same_output(true) && !series.runs.front().has_output)
    out << "stdout was empty in all runs, so that it says nothing of the levels.\n";
  else if (series.has_same_output(true))
    out << "stdout was the same in all " << count_of(series.successful_runs(), "run") << ", byte for byte.\n";
  else
    out << "stdout DIFFERS with fewer warps, and not between plain runs: do not apply these levels.\n";
}

struct RunRow {
  std::size_t number;
  const Run& run;
};

std::string seconds_text(double seconds) { return seconds > 0 ? shortest(to_picoseconds(seconds)) : ""; }

constexpr CsvColumn<RunRow> run_columns[] = {
    {"run", [](const RunRow& r) { return std::to_string(r.number); }},
    {"pair", [](const RunRow& r) { return std::to_string(r.run.pair); }},
    {"levels", [](const RunRow& r) { return std::string(r.run.has_levels ? "applied" : "plain"); }},
    {"wall_s", [](const RunRow& r) { return shortest(to_picoseconds(r.run.exit.wall_s)); }},
    {"gpu_time_s", [](const RunRow& r) { return seconds_text(r.run.times.gpu_s); }},
    {"steps", [](const RunRow& r) { return r.run.times.steps > 0 ? std::to_string(r.run.times.steps) : ""; }},
    {"step_mean_s", [](const RunRow& r) { return seconds_text(r.run.times.step_s); }},
    {"exit_code", [](const RunRow& r) { return std::to_string(r.run.exit.code); }},
    {"same_stdout",
     [](const RunRow& r) {
       return std::string(!r.run.has_succeeded() ? "" : r.run.is_same_output ? "1" : "0");
     }},
};

void record(const fs::path& folder, const Series& series, nlohmann::json env) {
  constexpr std::span<const CsvColumn<RunRow>> columns = run_columns;
  std::string text = csv_header(columns);
  for (std::size_t i = 0; i < series.runs.size(); ++i) text += csv_line(columns, {i + 1, series.runs[i]});
  env["kind"] = "attach_apply";
  env["occbench_version"] = build_info.version;
  env["git_commit"] = build_info.commit;
  env["kernels"] = nlohmann::json::array();
  for (const attach::Kernel& k : series.changed)
    env["kernels"].push_back({{"symbol", k.name}, {"launches", k.launches}, {"changed", k.changed}});
  for (const Metric& metric : metrics)
    if (const auto change = change_of(series, metric))
      env[metric.key] = {{"median", change->median}, {"low", change->low}, {"high", change->high}};
  replace_file(folder / "runs.csv", text);
  constexpr int indent = 2;
  replace_file(folder / "env.json",
               env.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace

int apply_levels(const AttachOptions& o, std::vector<std::string> program) {
  const bool is_best = o.apply == std::vector<std::string>{"best"};
  const auto pairs = static_cast<int>(parse_size(o.pairs, "--pairs", 1, 1'000));
  if (program.empty() && o.from.empty())
    throw UserError(Exit::usage, "which program? `occbench attach --apply best -- COMMAND...`");
  if (!o.registers.empty())
    throw UserError(Exit::usage, "--apply sets levels, and --registers tries caps: one at a time");
  if (o.observe) throw UserError(Exit::usage, "--apply changes launches, and --observe does not");
  fs::path from = o.from;
  if (is_best && from.empty()) from = last_folder(program);
  const std::vector<std::string> known = from.empty() ? program : program_of(from);
  if (program.empty()) program = known;
  const LevelPlan plan = is_best ? best_of(from) : advice_of(o.apply);
  const std::string options = for_library(o, levels_of(o.levels));
  check_program(program[0]);

  hold_signals();
  const RunFolder folder =
      o.output.empty() ? RunFolder::fresh(default_folder(program).string() + "-apply") : RunFolder(o.output);
  if (fs::exists(folder.path() / "env.json"))
    throw UserError(Exit::file, folder.path().string() + ": holds results already; name another --output");
  const WorkFolder work(folder.path() / "runs");

  std::string advice;
  for (const auto* const each : {&plan.levels, &plan.unchanged})
    for (const attach::Advice& level : *each) advice += level.line();
  Runner runner(program, options, advice, work.path(), o.by_range);
  int code = 0;
  return write_or_report_loss(folder, code, [&] {
    const Series& series = runner.series();
    bool has_succeeded = runner.run(0, false);
    for (int pair = 1; has_succeeded && pair <= pairs && !is_difference_known(series); ++pair) {
      const bool is_lower_first = pair % 2 == 0;  // so that neither always comes second
      has_succeeded = runner.run(pair, is_lower_first) && runner.run(pair, !is_lower_first);
      if (has_succeeded) print_pair(std::cerr, series, pair, pairs);
    }
    code = series.runs.back().exit.code;
    if (series.runs.size() < 3) return code;
    if (code == 0) {
      print_changed(std::cerr, series);
      print_result(std::cerr, series, plan.expected);
    }
    record(folder.path(), series, {{"program", program}, {"from", from.string()}, {"apply", o.apply}});
    std::cerr << folder.path().string() << '\n';
    if (code != 0) return code;
    return series.has_same_output(false) && !series.has_same_output(true) ? own_failure : 0;
  });
}

}  // namespace occbench::commands
