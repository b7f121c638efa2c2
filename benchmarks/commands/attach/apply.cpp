// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/apply.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <occbench/program.hpp>
#include <span>

#include "benchmarks/commands/attach/advice.hpp"
#include "benchmarks/commands/attach/columns.hpp"
#include "benchmarks/commands/attach/outputs.hpp"
#include "benchmarks/commands/attach/program.hpp"
#include "benchmarks/commands/calc/print.hpp"
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

struct Run : SeenRun {
  int pair = 0;  ///< 0: the first run, which is shown and compared with no other's time
  bool has_levels = false;
};

/// All runs, in their order, and the kernels that the levels changed.
struct Series {
  std::vector<Run> runs;
  std::vector<attach::Kernel> changed;

  [[nodiscard]] bool all_same(bool has_levels) const {
    return std::ranges::all_of(
        runs, [&](const Run& run) { return run.has_levels != has_levels || run.is_same_output; });
  }
  [[nodiscard]] std::size_t well() const {
    return static_cast<std::size_t>(std::ranges::count_if(runs, &Run::is_well));
  }
  /// Wall times in seconds, pair by pair; a pair that is not whole is left out.
  [[nodiscard]] std::vector<double> times(bool has_levels) const {
    std::vector<double> found;
    for (std::size_t i = 2; i < runs.size() && runs[i].is_well(); i += 2)
      found.push_back((runs[i].has_levels == has_levels ? runs[i] : runs[i - 1]).ended.wall_s);
    return found;
  }
};

class Runner {
 public:
  Runner(std::vector<std::string> program, std::string options, std::string advice, fs::path folder)
      : program_(std::move(program)),
        options_(std::move(options)),
        advice_(std::move(advice)),
        folder_(std::move(folder)),
        outputs_(folder_) {}

  /// False where the program failed: then the series ends.
  bool run(int pair, bool has_levels) {
    const fs::path notes = folder_ / "processes";
    ProgramRun what{.program = program_};
    if (has_levels) {
      fs::create_directory(notes);
      replace_file(notes / attach::advice_file, advice_);
      what.library = library_.path();
      what.variables = {{attach::folder_variable, notes.string()}, {attach::options_variable, options_}};
    }
    const Run now{outputs_.run(what, has_levels ? "with fewer warps" : "a plain one"), pair, has_levels};
    series_.runs.push_back(now);
    const bool is_well = now.is_well();
    if (has_levels) {
      if (is_well && series_.changed.empty()) take_changed(notes);
      fs::remove_all(notes);
    }
    return is_well;
  }

  [[nodiscard]] Series& series() { return series_; }

 private:
  void take_changed(const fs::path& notes) {
    attach::Collected all = attach::collect(notes);
    for (const std::string& complaint : all.complaints)
      print_wrapped(std::cerr, "occbench: " + printable(complaint));
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
  Outputs outputs_;
  Series series_;
};

std::string percent(double share) { return text("%+.1f", 100 * share); }

/// The relative change of the wall time by the levels, with its interval.
statistics::MedianInterval change_of(const Series& series) {
  std::vector<double> changes = series.times(true);
  const std::vector<double> plain = series.times(false);
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i] = changes[i] / plain[i] - 1;
  return statistics::median_interval(changes);
}

void print_changed(std::ostream& out, const Series& series) {
  constexpr std::size_t rows_shown = 10, name_room = 48;
  std::vector<csv::Row> table = {{"kernel", "blocks per SM", "launches", "with fewer warps"}};
  for (std::size_t i = 0; i < std::min(rows_shown, series.changed.size()); ++i) {
    const attach::Kernel& k = series.changed[i];
    const auto arm = k.arms.find(attach::first_level);
    const int blocks = arm == k.arms.end() ? 0 : arm->second.blocks_per_sm;
    table.push_back({printable(binary::short_name(k.name, name_room)),
                     text("%d of %d", blocks, k.blocks_per_sm), grouped(k.launches), grouped(k.changed)});
  }
  out << '\n';
  print_aligned(out, table);
  if (series.changed.size() > rows_shown)
    out << "and " << grouped(series.changed.size() - rows_shown) << " more\n";
  out << '\n';
}

void print_result(std::ostream& out, const Series& series, double expected) {
  const std::vector<double> plain = series.times(false), lower = series.times(true);
  if (!plain.empty()) {
    const auto change = change_of(series);
    const bool has_interval = plain.size() >= statistics::min_samples(0.95);
    print_wrapped(out, "Wall time: " + duration(statistics::median(plain)) + " plain, " +
                           duration(statistics::median(lower)) +
                           " with fewer warps: " + percent(change.median) + " % (" + percent(change.low) +
                           " to " + percent(change.high) + ", " + (has_interval ? "95 % of " : "range of ") +
                           count_of(plain.size(), "pair") + ").");
    if (change.low <= 0 && change.high >= 0) out << "These runs show no difference.\n";
  }
  if (expected != 0) out << "Expected by single launches: " << percent(-expected) << " % of GPU time.\n";
  if (!series.all_same(false))
    out << "stdout differs between plain runs, so that it says nothing of the levels.\n";
  else if (series.all_same(true) && !series.runs.front().has_output)
    out << "stdout was empty in all runs, so that it says nothing of the levels.\n";
  else if (series.all_same(true))
    out << "stdout was the same in all " << count_of(series.well(), "run") << ", byte for byte.\n";
  else
    out << "stdout DIFFERS with fewer warps, and not between plain runs: do not apply these levels.\n";
}

struct RunRow {
  std::size_t number;
  const Run& run;
};

constexpr CsvColumn<RunRow> run_columns[] = {
    {"run", [](const RunRow& r) { return std::to_string(r.number); }},
    {"pair", [](const RunRow& r) { return std::to_string(r.run.pair); }},
    {"levels", [](const RunRow& r) { return std::string(r.run.has_levels ? "applied" : "plain"); }},
    {"wall_s", [](const RunRow& r) { return shortest(r.run.ended.wall_s); }},
    {"exit_code", [](const RunRow& r) { return std::to_string(r.run.ended.code); }},
    {"same_stdout",
     [](const RunRow& r) {
       return std::string(!r.run.is_well() ? "" : r.run.is_same_output ? "1" : "0");
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
  if (!series.times(false).empty()) {
    const auto change = change_of(series);
    env["wall_time_change"] = {{"median", change.median}, {"low", change.low}, {"high", change.high}};
  }
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
  const Advised advised = is_best ? best_of(from) : advice_of(o.apply);
  const std::string options = for_library(o, levels_of(o.levels));
  check_program(program[0]);

  hold_signals();
  const RunFolder folder =
      o.output.empty() ? RunFolder::fresh(default_folder(program).string() + "-apply") : RunFolder(o.output);
  if (fs::exists(folder.path() / "env.json"))
    throw UserError(Exit::file, folder.path().string() + ": holds results already; name another --output");
  const WorkFolder work(folder.path() / "runs");

  std::string advice;
  for (const auto* const each : {&advised.levels, &advised.unchanged})
    for (const attach::Advice& level : *each) advice += level.line();
  Runner runner(program, options, advice, work.path());
  int code = 0;
  return write_or_lose(folder, code, [&] {
    const Series& series = runner.series();
    bool is_well = runner.run(0, false);
    for (int pair = 1; is_well && pair <= pairs; ++pair) {
      const bool is_lower_first = pair % 2 == 0;  // so that neither always comes second
      is_well = runner.run(pair, is_lower_first) && runner.run(pair, !is_lower_first);
      if (is_well)
        std::cerr << "pair " << pair << " of " << pairs << ": " << duration(series.times(false).back())
                  << " plain, " << duration(series.times(true).back()) << " with fewer warps\n";
    }
    code = series.runs.back().ended.code;
    if (series.runs.size() < 3) return code;
    if (code == 0) {
      print_changed(std::cerr, series);
      print_result(std::cerr, series, advised.expected);
    }
    record(folder.path(), series, {{"program", program}, {"from", from.string()}, {"apply", o.apply}});
    std::cerr << folder.path().string() << '\n';
    if (code != 0) return code;
    return series.all_same(false) && !series.all_same(true) ? own_failure : 0;
  });
}

}  // namespace occbench::commands
