// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

#include "benchmarks/calibration.hpp"
#include "benchmarks/commands/commands.hpp"
#include "benchmarks/progress.hpp"
#include "benchmarks/words.hpp"
#include "harness/io/files.hpp"
#include "harness/measure/session.hpp"
#include "harness/record/environment.hpp"
#include "harness/theory/parameters.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string device;
  std::string output;
  bool force = false;
  bool allow_debug = false;
};

void print(const theory::ParameterField& field, const Estimate& e) {
  const std::string name(field.name);
  const std::string unit(field.unit);
  char line[160];
  if (!e.value)
    std::snprintf(line, sizeof line, "  %-20s %12s %-10s  ", name.c_str(), "none", unit.c_str());
  else
    std::snprintf(line, sizeof line, "  %-20s %12.6g %-10s  ", name.c_str(), *e.value, unit.c_str());
  std::cout << line;
  if (e.low && e.high) {
    std::snprintf(line, sizeof line, "%.6g to %.6g", *e.low, *e.high);
    std::cout << line;
  }
  std::cout << (e.value ? "" : e.method) << '\n';
}

int calibrate(const Options& o) {
  const Device device = open_device(o.device);
  if (is_debug_build() && !o.allow_debug)
    throw UserError(Exit::usage,
                    "this is a Debug build: its times are no results; use preset release, or --allow-debug");
  const std::string run_folder = default_run_folder(device);
  const fs::path file = !o.output.empty() ? fs::path(o.output)
                                          : fs::path("results") / run_folder.substr(0, run_folder.find('/')) /
                                                "parameters.json";
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
  const auto recipes = calibration_recipes(device.sm);
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
          progress.advance(result.planned.id, result.has_time());
        },
        stop);
  }
  progress.clear();

  std::vector<Estimate> estimates;
  for (const Recipe& recipe : recipes) {
    std::vector<Measurement> of_recipe;
    for (const CaseSpec& spec : recipe.cases) of_recipe.push_back(measured.at(spec.id()));
    estimates.push_back(recipe.cases.empty()
                            ? Estimate{.value = session.empty_launch_s(), .method = recipe.method}
                            : estimate(recipe, of_recipe));
    print(*std::ranges::find(theory::parameter_fields(), recipe.parameter, &theory::ParameterField::name),
          estimates.back());
  }
  const auto json = parameters_json(device, build_commit(), run_folder.substr(run_folder.find('/') + 1, 10),
                                    recipes, estimates);
  replace_file(file, json.dump(2) + "\n");
  std::cout << count << " cases in " << duration(progress.elapsed_s()) << ", in " << file.string() << '\n';
  return static_cast<int>(failed ? Exit::some_case_failed : Exit::ok);
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("calibrate", "Measures what a model of this GPU must be told");
  command->group("Model")->footer(
      "Example\n  occbench calibrate --output h200.json\n  occbench run --parameters h200.json");
  auto o = std::make_shared<Options>();
  const auto not_empty = [](const std::string& text) { return text.empty() ? std::string("is empty") : ""; };
  command->add_option("--device", o->device, "Index, UUID or part of the name (default: the most capable)")
      ->type_name("GPU");
  command->add_option("--output", o->output, "File (default: results/<gpu>/parameters.json)")
      ->type_name("FILE")
      ->check(not_empty);
  command->add_flag("--force", o->force, "Replaces a file that is there");
  command->add_flag("--allow-debug", o->allow_debug, "Times a Debug build all the same");
  command->callback([o, &exit_code] { exit_code = calibrate(*o); });
}

}  // namespace occbench::commands
