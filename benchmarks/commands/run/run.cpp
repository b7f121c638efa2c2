// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <optional>
#include <set>

#include "benchmarks/commands/run/measurement.hpp"
#include "benchmarks/commands/run/node.hpp"
#include "benchmarks/commands/run/task.hpp"
#include "benchmarks/framework/experiments_json.hpp"
#include "harness/device/machine_code.hpp"
#include "harness/io/printable.hpp"
#include "harness/measure/model_session.hpp"
#include "harness/measure/predict.hpp"
#include "harness/measure/session.hpp"
#include "harness/record/environment.hpp"

namespace occbench::commands {

namespace {

/// What can be checked before any device is asked for.
Request parse(RunOptions o, const std::vector<std::string>& flags, const std::string& command_line) {
  Request request;
  request.flags = parse_benchmark_flags(flags);
  request.command_line = command_line;
  if (!o.resume.empty() && !request.flags.filter.empty())
    throw UserError(Exit::usage, "--resume uses the run's own filter; omit --benchmark_filter");
  o.benchmark_filter = request.flags.filter;
  if (!o.case_ids.empty() && !flags.empty())
    throw UserError(Exit::usage,
                    "--case launches and reports nothing; " + flags.front() + " has no effect on it");
  static_cast<void>(parse_preset(o.preset));
  check_experiment_names(o.experiments);
  static_cast<void>(parse_counter_groups(o.counters));
  if (asks_for_several(o.device) && request.flags.writes_file)
    throw UserError(Exit::usage, "--benchmark_out is one file, and --device asks for several runs");
  request.options = std::move(o);
  return request;
}

/// The device and the cases. Completes the options, by --task-device and --resume.
Plan make_plan(Request& request) {
  RunOptions& o = request.options;
  select_mig_instance(o);
  if (!o.task_device.empty()) resolve_task_device(o);
  std::optional<nlohmann::json> resumed;
  if (!o.resume.empty()) {
    resumed = Recorder::environment_of(o.resume);
    o.anonymous = resumed->value("anonymous", nlohmann::json()) == nlohmann::json(true);
  }
  if (o.anonymous && request.flags.writes_file)
    throw UserError(Exit::usage,
                    "Google Benchmark writes the host's name into its file; an anonymous run goes without "
                    "--benchmark_out");

  Plan plan;
  plan.target = resumed ? resume_target(o, *resumed) : open_target(o);
  const Device& device = plan.target.device;
  if (is_debug_build() && !device.is_model && !o.allow_debug)  // a model's times are not this build's
    throw UserError(
        Exit::usage,
        "this is a Debug build: its times are not valid results; use preset release, or --allow-debug");
  plan.preset = parse_preset(o.preset);
  plan.specs = plan_cases(o.experiments, device.sm, plan.preset);
  if (plan.specs.empty())
    throw UserError(Exit::usage, "preset " + o.preset + " has no case here; `occbench list --preset " +
                                     o.preset + "` names those of the whole suite");
  plan.is_selected = benchmark_filter(o.benchmark_filter);
  if (std::ranges::none_of(plan.specs, [&](const CaseSpec& spec) { return plan.is_selected(spec.id()); }))
    throw UserError(Exit::usage, "--benchmark_filter '" + o.benchmark_filter + "' leaves none of " +
                                     std::to_string(plan.specs.size()) +
                                     " cases; --benchmark_list_tests names them");
  return plan;
}

int list_cases(const Plan& plan) {
  for (const CaseSpec& spec : plan.specs)
    if (plan.is_selected(spec.id())) std::cout << spec.id() << '\n';
  return 0;
}

void draw_parameters(const RunOptions& o, Plan& plan) {
  constexpr std::size_t sets = 8;  // beside the parameters' own values
  if (!o.bands) return;
  if (!plan.target.parameters)
    throw UserError(Exit::usage, "--bands goes with predictions, and nothing is known of " +
                                     plan.target.device.name +
                                     "; --parameters names what `occbench calibrate` wrote");
  plan.parameter_samples =
      theory::sample_parameters(plan.target.parameters->values, plan.target.parameters->ranges, sets);
}

/// `half_width`: asked for, relative. Twice as precise takes four times as many visits.
Precision precision_of(Preset preset, double half_width) {
  Precision p{.half_width = half_width};
  if (preset == Preset::quick) p.launch_s = 0.4e-3;
  if (preset == Preset::quick) p.min_rounds = 6;
  if (preset == Preset::quick) p.energy_s = 0.1;     // the counter is read within 1 ms of a step: 2 %
  if (preset == Preset::burn_in) p.min_rounds = 30;  // few cases: a card under load for some seconds
  const int most = preset == Preset::quick ? 12 : preset == Preset::burn_in ? 60 : 30;
  p.max_rounds = most * (half_width < 0.003 ? 3 : 1);
  return p;
}

std::unique_ptr<Runner> open_runner(const RunOptions& o, const Plan& plan, const Predictor& predictor) {
  const Device& device = plan.target.device;
  const Precision precision = precision_of(plan.preset, o.precision);
  const CounterGroups counters = parse_counter_groups(o.counters);
  if (!device.is_model) return std::make_unique<Session>(device, precision, o.seed, counters);
  if (counters.any()) throw UserError(Exit::usage, "a model has no counters; omit --counters, or name a GPU");
  return std::make_unique<ModelSession>(device, precision, predictor);
}

/// `--case ID,... --launches N`: nothing but these launches, for a profiler.
int launch_only(const RunOptions& o, const Plan& plan, Runner& runner) {
  std::vector<Case> cases;
  for (const std::string& id : o.case_ids) {
    const auto spec = std::ranges::find(plan.specs, id, &CaseSpec::id);
    if (spec == plan.specs.end())
      throw UserError(Exit::usage, "no case '" + id + "' in preset " + o.preset +
                                       "; `occbench list --format csv` names them all");
    cases.push_back(resolve(*spec, runner.device(), runner.arena(), runner.precision().launch_s));
    if (const Case& c = cases.back(); c.status != Status::valid)
      throw UserError(Exit::some_case_failed, c.id + " cannot run: " + c.reason);
  }
  for (const Case& c : cases)
    for (const double seconds : runner.launch_only(c, o.launches, o.profile))
      std::cout << c.id << "  " << seconds * 1e6 << " us\n";
  return 0;
}

Recorder open_recorder(const Request& request, const Plan& plan, const Runner& runner, RunFolder folder) {
  const RunOptions& o = request.options;
  if (!o.resume.empty()) {
    std::set<std::string> planned;
    for (const CaseSpec& spec : plan.specs) planned.insert(spec.id());
    return Recorder::resume(std::move(folder), planned);
  }
  const auto& parameters = plan.target.parameters;
  const RunDescription description{.command_line = request.command_line,
                                   .preset = o.preset,
                                   .experiments = experiments_json(o.experiments),
                                   .seed = o.seed,
                                   .benchmark_filter = o.benchmark_filter,
                                   .counters = o.counters,
                                   .google_benchmark_version = google_benchmark_version(),
                                   .parameters = parameters ? parameters->to_json() : nullptr,
                                   .bands = o.bands,
                                   .anonymous = o.anonymous};
  return Recorder::create(std::move(folder), environment(runner, description));
}

void print_model(std::ostream& out, const Target& target) {
  if (!target.device.is_model) return;
  const std::string borrowed = fallback_note(target.device.cc());
  out << banner(target.device) << "; parameters: " << printable(target.parameters->name)
      << (borrowed.empty() ? "" : "; " + borrowed) << std::endl;
}

int run(RunOptions options, const std::vector<std::string>& flags, const std::string& command_line) {
  Request request = parse(std::move(options), flags, command_line);
  const RunOptions& o = request.options;
  if (asks_for_several(o.device)) return run_on_each(o);

  Plan plan = make_plan(request);
  if (request.flags.list_tests) return list_cases(plan);
  draw_parameters(o, plan);
  const Device& device = plan.target.device;
  const Predictor predictor = [&plan](std::span<const Case> cases) {
    return predict(cases, plan.target.device, plan.target.parameters->values, plan.parameter_samples);
  };
  if (!o.case_ids.empty()) return launch_only(o, plan, *open_runner(o, plan, predictor));

  // Before the device is touched: a run that may not write must not disturb the one that does.
  check_quiet(o, device);
  catch_signals();  // from here on there is something to leave in order
  RunFolder folder = claim_folder(o, device);
  const std::unique_ptr<Runner> runner = open_runner(o, plan, predictor);
  check_copy_bandwidth(o, *runner);
  Recorder recorder = open_recorder(request, plan, *runner, std::move(folder));

  // Google Benchmark may own stdout; then the summary goes to stderr.
  std::ostream& out = request.flags.report_on_stdout ? std::cerr : std::cout;
  print_model(out, plan.target);
  Measurement measurement(request, plan, *runner, recorder, predictor, out);
  if (!measurement.measure()) return static_cast<int>(Exit::some_case_failed);
  return measurement.conclude();
}

void define_run(CLI::App& command, Invocation& invocation) {
  const auto o = add_run_options(command);
  command.callback([&command, o, &invocation] {
    invocation.exit_code = run(*o, with_environment(command.remaining()), invocation.command_line);
  });
}

}  // namespace

extern const Command run_command{
    .name = "run",
    .group = "Measure",
    .description = "Measures on a GPU, or models one, and writes a results folder",
    .define = define_run,
};

}  // namespace occbench::commands
