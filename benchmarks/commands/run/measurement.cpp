// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/run/measurement.hpp"

#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "benchmarks/framework/exec_resume.hpp"
#include "benchmarks/framework/google_benchmark.hpp"
#include "benchmarks/framework/watchdog.hpp"
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/folder.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/summary.hpp"
#include "harness/measure/session.hpp"
#include "harness/record/environment.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted{false};
volatile std::sig_atomic_t last_signal = 0;  // 0: none
void on_signal(int number) {
  interrupted = true;
  last_signal = number;
  std::signal(number, SIG_DFL);
}

const auto process_began = std::chrono::steady_clock::now();

/// Without those that have a row already or are not selected, shuffled within each experiment: the order in
/// which a group is filled must not follow the dial either.
std::vector<Case> cases_to_measure(const Plan& plan, const Runner& runner, const Recorder& recorder,
                                   std::uint64_t seed) {
  std::vector<Case> cases;
  for (const CaseSpec& spec : plan.specs)
    cases.push_back(resolve(spec, runner.device(), runner.arena(), runner.precision().launch_s));
  std::erase_if(cases, [&](const Case& c) {
    return recorder.finished_cases().contains(c.id) || !plan.is_selected(c.id);
  });
  std::mt19937_64 random(seed);
  for (auto first = cases.begin(); first != cases.end();) {
    const auto last = std::find_if(
        first, cases.end(), [&](const Case& c) { return c.spec.experiment != first->spec.experiment; });
    std::shuffle(first, last, random);
    first = last;
  }
  return cases;
}

/// What preset standard has of each experiment, for a quick run.
Planned planned_in_standard(const std::vector<std::string>& names, const theory::SmLimits& sm) {
  Planned next{.preset = std::string(to_string(Preset::standard))};
  const auto specs = plan_cases(names, sm, Preset::standard);
  for (const Experiment& e : experiments())
    if (const std::size_t values = max_values(e, specs); values > 0) next.values[e.name] = values;
  return next;
}

/// Whether the tools use this folder when they are given none: its cases.csv is the newest below ./results.
bool is_newest(const fs::path& folder) {
  std::error_code error;
  const auto write_time = [&](const fs::path& f) { return fs::last_write_time(f / "cases.csv", error); };
  bool found = false;
  for (fs::recursive_directory_iterator entry("results", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_directory(error) || !fs::exists(entry->path() / "cases.csv", error)) continue;
    if (fs::equivalent(entry->path(), folder, error))
      found = true;
    else if (write_time(entry->path()) > write_time(folder))
      return false;
  }
  return found;
}

}  // namespace

void catch_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(number, on_signal) == SIG_IGN) std::signal(number, SIG_IGN);  // as nohup asks
}

std::string banner(const Device& model) {
  return "MODEL" + model.name.substr(std::string_view("model").size()) + ": nothing here was measured";
}

Measurement::Measurement(const Request& request, const Plan& plan, Runner& runner, Recorder& recorder,
                         const Predictor& predictor, std::ostream& out)
    : options_(request.options),
      flags_(request.flags),
      plan_(plan),
      device_(plan.target.device),
      runner_(runner),
      recorder_(recorder),
      out_(out),
      cases_(cases_to_measure(plan, runner, recorder, request.options.seed)) {
  if (plan.target.parameters && !device_.is_model) background_predictor_.emplace(cases_, predictor);
}

bool Measurement::measure() {
  start_stop_timer();
  runner_.resume_from(recorder_.unfinished_samples());
  runner_.on_samples([this](std::span<const SampleRow> samples) { on_samples(samples); });
  Watchdog watchdog(options_.timeout_s, [this](const Case& c) { on_timeout(c); });
  runner_.on_case([&](const Case* c) {
    watchdog.on_case(c);
    if (c != nullptr) progress_.on_case(c->id);
  });
  try {
    is_file_whole_ = run_benchmarks(
        runner_, cases_,
        {.report_on_stdout = flags_.report_on_stdout,
         .csv_on_stdout = flags_.csv_on_stdout,
         .file_format = flags_.file_format,
         .cases_per_group = device_.is_model ? std::size_t{24} : cases_.size(),
         .stop = &interrupted,
         .on_result = [this](const CaseResult& r, std::span<const SampleRow>) { on_result(r); },
         .selected = [this](std::size_t n) { progress_.expect(n); }});
  } catch (const ContextLost& e) {
    resume_in_new_process(e.what());
    return false;
  }
  progress_.clear();
  return true;
}

/// --stop-after ends the run as Ctrl-C would.
void Measurement::start_stop_timer() const {
  if (options_.stop_after_s <= 0) return;
  std::signal(SIGALRM, on_signal);
  const itimerval limit{.it_interval = {},
                        .it_value = {.tv_sec = static_cast<time_t>(options_.stop_after_s), .tv_usec = 1}};
  setitimer(ITIMER_REAL, &limit, nullptr);
}

void Measurement::on_samples(std::span<const SampleRow> samples) {
  recorder_.append(samples);
  progress_.on_visit(samples.front().case_id, samples.front().round);
}

void Measurement::on_result(const CaseResult& result) {
  const std::scoped_lock lock(mutex_);
  if (result.repetition > 0) return;
  CaseResult row = result;
  if (background_predictor_) background_predictor_->add_to(row.planned);
  recorder_.append(row);
  results_.push_back(std::move(row));
  progress_.on_result(result.planned.id, result.has_time());
}

void Measurement::on_timeout(const Case& c) {
  CaseResult hung{.planned = c};
  hung.planned.status = Status::invalid;
  hung.planned.reason =
      "timed out after " + std::to_string(static_cast<int>(options_.timeout_s)) + " s (--timeout)";
  on_result(hung);
  resume_in_new_process("case " + c.id + ": " + hung.planned.reason + "; its row says so");
  std::_Exit(static_cast<int>(Exit::some_case_failed));
}

void Measurement::resume_in_new_process(const std::string& why) {
  progress_.clear();
  const auto arguments = resume_command();
  std::cerr << "occbench: " << why << (arguments.empty() ? "; --resume measures the rest" : "") << std::endl;
  const auto noisy =
      std::ranges::count(results_, Status::noisy, [](const CaseResult& r) { return r.planned.status; });
  if (!arguments.empty())
    exec_resume(arguments,
                recorder_.finished_cases().size() + results_.size() - static_cast<std::size_t>(noisy));
}

/// Empty where another program reads this process's output.
std::vector<std::string> Measurement::resume_command() const {
  const RunOptions& o = options_;
  if (flags_.report_on_stdout || flags_.writes_file) return {};
  std::vector<std::string> arguments{"--resume", recorder_.folder().string()};
  if (!o.device.empty()) arguments.insert(arguments.end(), {"--device", o.device});
  if (o.timeout_s > 0) arguments.insert(arguments.end(), {"--timeout", std::to_string(o.timeout_s) + "s"});
  if (o.stop_after_s > 0) {
    const double left_s = std::max(1.0, o.stop_after_s - progress_.elapsed_s());
    arguments.insert(arguments.end(), {"--stop-after", std::to_string(left_s) + "s"});
  }
  if (o.verbose) arguments.emplace_back("--verbose");
  if (o.allow_debug) arguments.emplace_back("--allow-debug");
  return arguments;
}

int Measurement::conclude() {
  const std::optional<Disturbance> disturbance = runner_.disturbance();
  if (disturbance) recorder_.add_to_environment("disturbance", to_json(*disturbance, options_.anonymous));
  if (!interrupted && !device_.is_model) recorder_.pack();
  const std::vector<findings::ExperimentFindings> found = write_findings();

  Planned next;
  if (plan_.preset == Preset::quick && !interrupted && options_.benchmark_filter.empty() &&
      recorder_.finished_cases().empty())
    next = planned_in_standard(options_.experiments, device_.sm);
  if (options_.verbose) print_details(next, found);
  print_summary(out_, results_,
                {.device = device_.name,
                 .is_model = device_.is_model,
                 .has_predictions = plan_.target.parameters.has_value(),
                 .seconds = progress_.elapsed_s(),
                 .half_width = runner_.precision().half_width,
                 .preset = options_.preset,
                 .next = next,
                 .rows_before = recorder_.finished_cases().size(),
                 .folder = recorder_.folder().string(),
                 .is_newest = is_newest(recorder_.folder()),
                 .disturbance = disturbance ? disturbance->summary : "",
                 .interrupted = interrupted,
                 .expected = progress_.total(),
                 .findings = found});
  if (device_.is_model) out_ << banner(device_) << '\n';
  if (!is_file_whole_)
    throw UserError(Exit::file, "the file of --benchmark_out could not be written whole; " +
                                    (recorder_.folder() / "cases.csv").string() + " has every row");
  return exit_code(disturbance);
}

/// A run is complete without findings.json: readers compute the findings anew.
std::vector<findings::ExperimentFindings> Measurement::write_findings() const {
  try {
    return findings::write_findings(recorder_.folder()).all;
  } catch (const UserError& e) {
    std::cerr << "occbench: " << e.what() << "; the run has no findings.json" << std::endl;
    return {};
  }
}

void Measurement::print_details(const Planned& next, const std::vector<findings::ExperimentFindings>& found) {
  print_listing(out_, results_, next, found);
  if (const auto references = runner_.references())
    out_ << "cudaMemcpy on the device, read and written: "
         << format_throughput(references->memcpy_bytes_per_s, Ceiling::dram) << '\n';
  const double opening_s = std::chrono::duration<double>(began_ - process_began).count();
  auto spent = runner_.time_spent();
  spent.emplace_back("opening the GPU, before the first case", opening_s);
  for (const auto& [activity, seconds] : spent)
    out_ << text("%7.1f s %5.1f %%  ", seconds, 100 * seconds / (opening_s + progress_.elapsed_s()))
         << activity << '\n';
}

int Measurement::exit_code(const std::optional<Disturbance>& disturbance) const {
  if (interrupted && last_signal != SIGALRM) return 128 + static_cast<int>(last_signal);
  const bool has_failed = std::ranges::any_of(results_, [](const CaseResult& r) {
    return r.planned.status == Status::invalid || r.planned.status == Status::noisy;
  });
  const bool is_doubtful = disturbance && disturbance->from_the_start;
  const bool is_whole = !interrupted && !has_failed && !is_doubtful && !resumes_another();
  return static_cast<int>(is_whole ? Exit::ok : Exit::some_case_failed);
}

}  // namespace occbench::commands
