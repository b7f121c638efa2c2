// SPDX-License-Identifier: Apache-2.0
#include <sys/time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

#include "benchmarks/commands/commands.hpp"
#include "benchmarks/commands/run/node.hpp"
#include "benchmarks/commands/run/options.hpp"
#include "benchmarks/commands/run/target.hpp"
#include "benchmarks/commands/run/task.hpp"
#include "benchmarks/framework/background_predictor.hpp"
#include "benchmarks/framework/benchmark_flags.hpp"
#include "benchmarks/framework/described.hpp"
#include "benchmarks/framework/exec_resume.hpp"
#include "benchmarks/framework/google_benchmark.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/framework/watchdog.hpp"
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/listing.hpp"
#include "benchmarks/report/progress.hpp"
#include "benchmarks/report/summary.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/device/machine_code.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/files.hpp"
#include "harness/measure/model_session.hpp"
#include "harness/measure/predict.hpp"
#include "harness/measure/session.hpp"
#include "harness/record/environment.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted{false};
volatile std::sig_atomic_t ended_by = 0;  // the signal that did
void on_signal(int number) {
  interrupted = true;
  ended_by = number;
  std::signal(number, SIG_DFL);  // a second one ends at once
}

const auto process_began = std::chrono::steady_clock::now();

/// `half_width`: asked for, relative. Twice as precise takes four times as many visits.
Precision precision_of(Preset preset, double half_width) {
  Precision p{.half_width = half_width};
  if (preset == Preset::quick) p.launch_s = 0.4e-3;
  if (preset == Preset::quick) p.least_rounds = 6;
  if (preset == Preset::quick) p.energy_s = 0.1;       // the counter is read within 1 ms of a step: 2 %
  if (preset == Preset::burn_in) p.least_rounds = 30;  // few cases: a card under load for some seconds
  const int most = preset == Preset::quick ? 12 : preset == Preset::burn_in ? 60 : 30;
  p.most_rounds = most * (half_width < 0.003 ? 3 : 1);
  return p;
}

constexpr std::size_t band_sets = 8;  // of parameters, beside their own values

std::vector<Case> resolve_all(const std::vector<CaseSpec>& specs, const Runner& runner) {
  std::vector<Case> cases;
  for (const CaseSpec& spec : specs)
    cases.push_back(resolve(spec, runner.device(), runner.arena(), runner.precision().launch_s));
  return cases;
}

/// `--case ID,... --launches N`: nothing but these launches, for a profiler to look at.
void launch_only(const RunOptions& o, Runner& runner, const std::vector<CaseSpec>& specs) {
  std::vector<Case> cases;
  for (const std::string& id : o.case_ids) {
    const auto spec = std::ranges::find(specs, id, &CaseSpec::id);
    if (spec == specs.end())
      throw UserError(Exit::usage, "no case '" + id + "' in preset " + o.preset +
                                       "; `occbench list --format csv` names them all");
    cases.push_back(resolve(*spec, runner.device(), runner.arena(), runner.precision().launch_s));
    if (const Case& c = cases.back(); c.status != Status::valid)
      throw UserError(Exit::some_case_failed, c.id + " cannot run: " + c.reason);
  }
  for (const Case& c : cases)
    for (const double seconds : runner.launch_only(c, o.launches, o.profile))
      std::cout << c.id << "  " << seconds * 1e6 << " us\n";
}

/// Shuffled within each experiment: the order in which a group is filled must not follow the dial either.
void shuffle_within_experiments(std::vector<Case>& cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (auto first = cases.begin(); first != cases.end();) {
    const auto last = std::find_if(
        first, cases.end(), [&](const Case& c) { return c.spec.experiment != first->spec.experiment; });
    std::shuffle(first, last, random);
    first = last;
  }
}

std::unique_ptr<Runner> open_runner(const Target& target, const Precision& precision, const RunOptions& o,
                                    const Predictor& predictor) {
  const CounterGroups counters = parse_counter_groups(o.counters);
  if (!target.device.is_model) return std::make_unique<Session>(target.device, precision, o.seed, counters);
  if (counters.any())
    throw UserError(Exit::usage, "a model has no counters; leave --counters away, or name a GPU");
  return std::make_unique<ModelSession>(target.device, precision, predictor);
}

/// What preset standard has of each experiment, for a quick run.
Planned planned_in_standard(const std::vector<std::string>& names, const theory::SmLimits& sm) {
  Planned next{.preset = std::string(to_string(Preset::standard))};
  const auto specs = plan_cases(names, sm, Preset::standard);
  for (const Experiment& e : experiments())
    if (const std::size_t values = most_values(e, specs); values > 0) next.values[e.name] = values;
  return next;
}

/// True where the tools, told no folder, take this one: of those under ./results its cases.csv was written
/// last.
bool is_newest(const fs::path& folder) {
  std::error_code error;
  const auto written = [&](const fs::path& f) { return fs::last_write_time(f / "cases.csv", error); };
  bool found = false;
  for (fs::recursive_directory_iterator entry("results", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_directory(error) || !fs::exists(entry->path() / "cases.csv", error)) continue;
    if (fs::equivalent(entry->path(), folder, error))
      found = true;
    else if (written(entry->path()) > written(folder))
      return false;
  }
  return found;
}

/// The words with which a run goes on that lost its CUDA context; none where something else waits for its
/// end.
std::vector<std::string> resume_command(const RunOptions& o, const BenchmarkFlags& asked,
                                        const fs::path& folder, double spent_s) {
  if (asked.report_on_stdout || asked.writes_file) return {};
  std::vector<std::string> words{"--resume", folder.string()};
  if (!o.device.empty()) words.insert(words.end(), {"--device", o.device});
  if (o.timeout_s > 0) words.insert(words.end(), {"--timeout", std::to_string(o.timeout_s) + "s"});
  if (o.stop_after_s > 0)
    words.insert(words.end(),
                 {"--stop-after", std::to_string(std::max(1.0, o.stop_after_s - spent_s)) + "s"});
  if (o.verbose) words.emplace_back("--verbose");
  if (o.allow_debug) words.emplace_back("--allow-debug");
  return words;
}

/// "MODEL of H200: nothing here was measured"
std::string banner(const Device& model) {
  return "MODEL" + model.name.substr(std::string_view("model").size()) + ": nothing here was measured";
}

int run(RunOptions o, const std::vector<std::string>& flags, const std::string& command_line) {
  const BenchmarkFlags asked = parse_benchmark_flags(flags);
  if (!o.resume.empty() && !asked.filter.empty())
    throw UserError(Exit::usage, "--resume goes on with the run's own filter; leave --benchmark_filter away");
  o.benchmark_filter = asked.filter;
  if (!o.case_ids.empty() && !flags.empty())
    throw UserError(Exit::usage,
                    "--case launches and reports nothing; " + flags.front() + " has no part in it");
  Preset preset = parse_preset(o.preset);
  check_experiment_names(o.experiments);
  static_cast<void>(parse_counter_groups(o.counters));  // a wrong word is told before any device is asked for
  if (asks_for_several(o.device)) {
    if (asked.writes_file)
      throw UserError(Exit::usage, "--benchmark_out is one file, and --device asks for several runs");
    return run_on_each(o);
  }
  take_instance(o);
  if (!o.task_device.empty()) take_task_device(o);
  const auto resumed_environment =
      o.resume.empty() ? std::nullopt : std::optional(Recorder::environment_of(o.resume));
  if (resumed_environment)
    o.anonymous = resumed_environment->value("anonymous", nlohmann::json()) == nlohmann::json(true);
  if (o.anonymous && asked.writes_file)
    throw UserError(Exit::usage,
                    "Google Benchmark writes the host's name into its file; an anonymous run goes without "
                    "--benchmark_out");

  const Target target = resumed_environment ? take_over(o, *resumed_environment) : open_target(o);
  const Device& device = target.device;
  if (is_debug_build() && !device.is_model && !o.allow_debug)  // a model's times are not this build's
    throw UserError(Exit::usage,
                    "this is a Debug build: its times are no results; use preset release, or --allow-debug");
  preset = parse_preset(o.preset);
  const auto specs = plan_cases(o.experiments, device.sm, preset);
  if (specs.empty())
    throw UserError(Exit::usage, "preset " + o.preset + " has no case here; `occbench list --preset " +
                                     o.preset + "` names those of the whole suite");

  const auto selects = benchmark_filter(o.benchmark_filter);
  if (std::ranges::none_of(specs, [&](const CaseSpec& spec) { return selects(spec.id()); }))
    throw UserError(Exit::usage, "--benchmark_filter '" + o.benchmark_filter + "' leaves none of " +
                                     std::to_string(specs.size()) +
                                     " cases; --benchmark_list_tests names them");
  if (asked.list_tests) {
    for (const CaseSpec& spec : specs)
      if (selects(spec.id())) std::cout << spec.id() << '\n';
    return 0;
  }

  std::vector<theory::Parameters> drawn;
  if (o.bands) {
    if (!target.parameters)
      throw UserError(Exit::usage, "--bands goes with predictions, and nothing is known of " + device.name +
                                       "; --parameters names what `occbench calibrate` wrote");
    drawn = theory::drawn(target.parameters->values, target.parameters->ranges, band_sets);
  }
  const Predictor predictor = [&](std::span<const Case> cases) {
    return predict(cases, device, target.parameters->values, drawn);
  };
  const auto open = [&] { return open_runner(target, precision_of(preset, o.precision), o, predictor); };
  if (!o.case_ids.empty()) {
    launch_only(o, *open(), specs);
    return 0;
  }
  // Before the device is touched: a run that may not write must not disturb the one that does.
  insist_on_quiet(o, device);
  // From here on there is something to leave in order.
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(number, on_signal) == SIG_IGN) std::signal(number, SIG_IGN);  // as nohup asks
  RunFolder folder = claim_folder(o, device);
  const std::unique_ptr<Runner> runner = open();

  if (const auto references = runner->references();
      references && (o.require_quiet || o.wait_quiet_s > 0) && !references->copies_alone(device))
    throw UserError(Exit::no_device,
                    device.name + " is not quiet: cudaMemcpy comes to " +
                        text("%.0f %%", 100 * references->memcpy_bytes_per_s / device.dram_bytes_per_s) +
                        " of the DRAM's peak");

  const RunDescription description{.command_line = command_line,
                                   .preset = o.preset,
                                   .experiments = described(o.experiments),
                                   .seed = o.seed,
                                   .benchmark_filter = o.benchmark_filter,
                                   .counters = o.counters,
                                   .google_benchmark_version = google_benchmark_version(),
                                   .parameters = target.parameters ? target.parameters->to_json() : nullptr,
                                   .bands = o.bands,
                                   .anonymous = o.anonymous};
  Recorder recorder = o.resume.empty()
                          ? Recorder::create(std::move(folder), environment(*runner, description))
                          : Recorder::resume(std::move(folder));

  // Google Benchmark may own stdout; then the words go beside it.
  std::ostream& out = asked.report_on_stdout ? std::cerr : std::cout;
  if (device.is_model) {
    const std::string borrowed = stand_in(device.cc());
    out << banner(device) << "; parameters: " << printable(target.parameters->name)
        << (borrowed.empty() ? "" : "; " + borrowed) << std::endl;
  }

  auto cases = resolve_all(specs, *runner);
  std::erase_if(cases, [&](const Case& c) { return recorder.finished().contains(c.id) || !selects(c.id); });
  shuffle_within_experiments(cases, o.seed);
  std::optional<BackgroundPredictor> predictor;
  if (target.parameters && !device.is_model) predictor.emplace(cases, predictor);

  const auto measuring_began = std::chrono::steady_clock::now();
  Progress progress;
  std::vector<CaseResult> results;
  if (o.stop_after_s > 0) {
    std::signal(SIGALRM, on_signal);
    const itimerval limit{.it_interval = {},
                          .it_value = {.tv_sec = static_cast<time_t>(o.stop_after_s), .tv_usec = 1}};
    setitimer(ITIMER_REAL, &limit, nullptr);
  }
  runner->resume_from(recorder.unfinished());
  runner->on_samples([&](std::span<const SampleRow> samples) {
    recorder.append(samples);
    progress.visited(samples.front().case_id, samples.front().round);
  });
  std::mutex finishing;
  const auto finish = [&](const CaseResult& result, std::span<const SampleRow>) {
    const std::scoped_lock lock(finishing);
    if (result.repetition > 0) return;
    CaseResult row = result;
    if (predictor) predictor->add_to(row.planned);
    recorder.append(row);
    results.push_back(std::move(row));
    progress.advance(result.planned.id, result.has_time());
  };
  // A lost context is lost with its process: the rest is for another.
  const auto give_up = [&](const std::string& line) {
    progress.clear();
    const auto words = resume_command(o, asked, recorder.folder(), progress.elapsed_s());
    std::cerr << "occbench: " << line << (words.empty() ? "; --resume goes on with the rest" : "")
              << std::endl;
    const auto noisy =
        std::ranges::count(results, Status::noisy, [](const CaseResult& r) { return r.planned.status; });
    if (!words.empty())
      exec_resume(words, recorder.finished().size() + results.size() - static_cast<std::size_t>(noisy));
  };
  Watchdog watchdog(o.timeout_s, [&](const Case& c) {
    CaseResult hung{.planned = c};
    hung.planned.status = Status::invalid;
    hung.planned.reason =
        "no end after " + std::to_string(static_cast<int>(o.timeout_s)) + " s" + " (--timeout)";
    finish(hung, {});
    give_up("case " + c.id + ": " + hung.planned.reason + "; its row says so");
    std::_Exit(static_cast<int>(Exit::some_case_failed));
  });
  runner->set_watch([&](const Case* c) {
    watchdog.turn(c);
    if (c != nullptr) progress.turn(c->id);
  });
  bool is_file_whole = true;
  try {
    is_file_whole = run_benchmarks(*runner, cases,
                                   {.report_on_stdout = asked.report_on_stdout,
                                    .csv_on_stdout = asked.csv_on_stdout,
                                    .file_format = asked.file_format,
                                    .cases_per_group = device.is_model ? std::size_t{24} : cases.size(),
                                    .stop = &interrupted,
                                    .finished = finish,
                                    .selected = [&](std::size_t n) { progress.expect(n); }});
  } catch (const ContextLost& e) {
    give_up(e.what());
    return static_cast<int>(Exit::some_case_failed);
  }
  progress.clear();
  const std::optional<Disturbance> disturbance = runner->disturbance();
  if (disturbance) recorder.add_to_environment("disturbance", to_json(*disturbance, o.anonymous));
  if (!interrupted && !device.is_model) recorder.pack();

  Planned next;
  if (preset == Preset::quick && !interrupted && o.benchmark_filter.empty() && recorder.finished().empty())
    next = planned_in_standard(o.experiments, device.sm);
  if (o.verbose) {
    print_listing(out, results, next);
    if (const auto references = runner->references())
      out << "cudaMemcpy on the device, read and written: "
          << format_throughput(references->memcpy_bytes_per_s, Ceiling::dram) << '\n';
    const double opening_s = std::chrono::duration<double>(measuring_began - process_began).count();
    const auto spent = [&](double seconds, const std::string& what) {
      out << text("%7.1f s %5.1f %%  ", seconds, 100 * seconds / (opening_s + progress.elapsed_s())) << what
          << '\n';
    };
    for (const auto& [what, seconds] : runner->spent()) spent(seconds, what);
    spent(opening_s, "opening the GPU, and what comes before the first case");
  }
  print_summary(out, results,
                {.device = device.name,
                 .is_model = device.is_model,
                 .has_predictions = target.parameters.has_value(),
                 .seconds = progress.elapsed_s(),
                 .half_width = runner->precision().half_width,
                 .preset = o.preset,
                 .next = next,
                 .rows_before = recorder.finished().size(),
                 .folder = recorder.folder().string(),
                 .is_newest = is_newest(recorder.folder()),
                 .disturbance = disturbance ? disturbance->said : "",
                 .interrupted = interrupted,
                 .expected = progress.total()});
  if (device.is_model) out << banner(device) << '\n';
  if (!is_file_whole)
    throw UserError(Exit::file, "the file of --benchmark_out could not be written whole; " +
                                    (recorder.folder() / "cases.csv").string() + " has every row");
  if (interrupted)
    return ended_by == SIGALRM ? static_cast<int>(Exit::some_case_failed) : 128 + static_cast<int>(ended_by);
  const bool failed = std::ranges::any_of(results, [](const CaseResult& r) {
    return r.planned.status == Status::invalid || r.planned.status == Status::noisy;
  });
  const bool doubtful = disturbance && disturbance->from_the_start;
  return static_cast<int>(failed || doubtful || goes_on_for_another() ? Exit::some_case_failed : Exit::ok);
}

}  // namespace

void add_run(CLI::App& app, const std::string& command_line, int& exit_code) {
  auto* command = app.add_subcommand("run", "Measures on a GPU, or models one, and writes a results folder");
  command->group("Measure");
  const auto o = add_run_options(*command);
  command->callback([command, o, &command_line, &exit_code] {
    exit_code = run(*o, with_environment(command->remaining()), command_line);
  });
}

}  // namespace occbench::commands
