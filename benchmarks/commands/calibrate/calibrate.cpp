// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calibrate/calibrate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

#include "benchmarks/calibration/calibration.hpp"
#include "benchmarks/report/progress.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/io/files.hpp"
#include "harness/measure/session.hpp"
#include "harness/record/environment.hpp"
#include "harness/theory/hardware.hpp"
#include "harness/theory/parameters.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  std::string device;
  std::string output;
  bool probes = false;
  bool force = false;
  bool allow_debug = false;
};

/// `held`: what the model has had for it so far.
void print(std::string_view name, std::string_view unit, const Estimate& e, std::optional<double> held) {
  const auto text = [](const char* format, auto... values) {
    char line[160];
    std::snprintf(line, sizeof line, format, values...);
    std::cout << line;
  };
  text("  %-24s ", std::string(name).c_str());
  if (held) text("%10.6g ", *held);
  if (e.value)
    text("%12.6g ", *e.value);
  else
    text("%12s ", "none");
  text("%-12s ", std::string(unit).c_str());
  if (e.low && e.high) text("%.6g to %.6g", *e.low, *e.high);
  std::cout << (e.value ? "" : e.method) << '\n';
}

int calibrate(const CalibrateOptions& o) {
  const Device device = open_device(o.device);
  if (is_debug_build() && !o.allow_debug)
    throw UserError(Exit::usage,
                    "this is a Debug build: its times are no results; use preset release, or --allow-debug");
  const std::string run_folder = default_run_folder(device);
  const fs::path file = !o.output.empty() ? fs::path(o.output)
                                          : fs::path("results") / run_folder.substr(0, run_folder.find('/')) /
                                                (o.probes ? "probes.json" : "parameters.json");
  std::error_code error;
  if (fs::is_directory(file, error)) throw UserError(Exit::file, file.string() + ": is a folder, not a file");
  if (fs::exists(file, error) && !o.force)
    throw UserError(Exit::file,
                    file.string() + ": is there already; --force replaces it, --output names another");
  if (file.has_parent_path()) {
    fs::create_directories(file.parent_path(), error);
    if (error)
      throw UserError(Exit::file, file.parent_path().string() + ": cannot be created: " + error.message());
  }

  Session session(device, {}, 1);
  const auto recipes = o.probes ? probe_recipes(device.sm) : calibration_recipes(device.sm);
  const auto groups = calibration_groups(recipes);
  std::size_t count = 0;
  for (const auto& group : groups) count += group.size();
  Progress progress;
  progress.expect(count);
  std::map<std::string, Measurement> measured;
  bool failed = false;
  const std::atomic<bool> stop{false};
  for (const auto& group : groups) {
    std::vector<Case> cases;
    for (const CaseSpec& spec : group)
      cases.push_back(resolve(spec, device, session.arena(), session.precision().launch_s));
    session.measure(
        cases, 0,
        [&](const CaseResult& result, std::span<const SampleRow> samples) {
          measured[result.planned.id] = measurement_of(result, samples, session.empty_launch_s());
          failed = failed || result.planned.status == Status::invalid;
          progress.on_result(result.planned.id, result.has_time());
        },
        stop);
  }
  progress.clear();

  if (o.probes) std::cout << "  fact                           held         here\n";
  std::vector<Estimate> estimates;
  for (const Recipe& recipe : recipes) {
    std::vector<Measurement> of_recipe;
    for (const CaseSpec& spec : recipe.cases) of_recipe.push_back(measured.at(spec.id()));
    estimates.push_back(recipe.cases.empty()
                            ? Estimate{.value = session.empty_launch_s(), .method = recipe.method}
                            : estimate(recipe, of_recipe));
    if (o.probes) {
      const theory::Fact& fact = theory::fact_of(recipe.parameter);
      print(fact.name, fact.unit, estimates.back(), fact.value);
    } else {
      const auto& field =
          *std::ranges::find(theory::parameter_fields(), recipe.parameter, &theory::ParameterField::name);
      print(field.name, field.unit, estimates.back(), {});
    }
  }
  const std::string date = run_folder.substr(run_folder.find('/') + 1, 10);
  const auto json =
      (o.probes ? facts_json : parameters_json)(device, build_commit(), date, recipes, estimates);
  replace_file(file, json.dump(2) + "\n");
  std::cout << count << " cases in " << duration(progress.elapsed_s()) << ", in " << file.string() << '\n';
  return static_cast<int>(failed ? Exit::some_case_failed : Exit::ok);
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("calibrate", "Measures what a model of this GPU must be told");
  command->group("Model")->footer(
      "Example\n  occbench calibrate --output h200.json\n  occbench run --parameters h200.json\n"
      "  occbench calibrate --probes");
  auto o = std::make_shared<CalibrateOptions>();
  const auto not_empty = [](const std::string& text) { return text.empty() ? std::string("is empty") : ""; };
  command->add_option("--device", o->device, "Index, UUID or part of the name (default: the most capable)")
      ->type_name("GPU");
  command->add_flag("--probes", o->probes,
                    "Measures what the model holds for true of every GPU, instead of its parameters");
  command
      ->add_option("--output", o->output,
                   "File (default: results/<gpu>/parameters.json, or probes.json there)")
      ->type_name("FILE")
      ->check(not_empty);
  command->add_flag("--force", o->force, "Replaces a file that is there");
  command->add_flag("--allow-debug", o->allow_debug, "Times a Debug build all the same");
  command->callback([o, &exit_code] { exit_code = calibrate(*o); });
}

}  // namespace occbench::commands
