// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <map>
#include <occbench/program.hpp>

#include "benchmarks/calibration/calibration.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/progress.hpp"
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

/// `model_value`: of a fact, the value that the model uses.
void print_estimate(std::string_view name, std::string_view unit, const Estimate& e,
                    std::optional<double> model_value) {
  std::cout << text("  %-24s ", std::string(name).c_str());
  if (model_value) std::cout << text("%10.6g ", *model_value);
  std::cout << (e.value ? text("%12.6g ", *e.value) : text("%12s ", "none"))
            << text("%-12s ", std::string(unit).c_str());
  if (e.low && e.high) std::cout << text("%.6g to %.6g", *e.low, *e.high);
  std::cout << (e.value ? "" : e.method) << '\n';
}

/// The file to write. Throws UserError where it cannot be, or is there and `force` is not set.
fs::path output_file(const CalibrateOptions& o, const std::string& run_folder) {
  const fs::path file = !o.output.empty() ? fs::path(o.output)
                                          : fs::path("results") / run_folder.substr(0, run_folder.find('/')) /
                                                (o.probes ? "probes.json" : "parameters.json");
  std::error_code error;
  if (fs::is_directory(file, error)) throw UserError(Exit::file, file.string() + ": is a folder, not a file");
  if (fs::exists(file, error) && !o.force)
    throw UserError(Exit::file,
                    file.string() + ": already exists; --force replaces it, --output names another file");
  if (!file.has_parent_path()) return file;
  fs::create_directories(file.parent_path(), error);
  if (error)
    throw UserError(Exit::file, file.parent_path().string() + ": cannot be created: " + error.message());
  return file;
}

/// What the recipes' cases measure on a device, and the estimates from it.
class Calibration {
 public:
  Calibration(const Device& device, bool probes)
      : device_(device),
        session_(device, {}, 1),
        recipes_(probes ? probe_recipes(device.sm) : calibration_recipes(device.sm)) {}

  void measure() {
    const auto groups = calibration_groups(recipes_);
    for (const auto& group : groups) case_count_ += group.size();
    progress_.expect(case_count_);
    for (const auto& group : groups) measure(group);
    progress_.clear();
  }

  /// One for each recipe.
  [[nodiscard]] std::vector<Estimate> estimates() const {
    std::vector<Estimate> all;
    for (const Recipe& recipe : recipes_) {
      std::vector<Measurement> of_recipe;
      for (const CaseSpec& spec : recipe.cases) of_recipe.push_back(measurements_.at(spec.id()));
      all.push_back(recipe.cases.empty()
                        ? Estimate{.value = session_.empty_launch_s(), .method = recipe.method}
                        : estimate(recipe, of_recipe));
    }
    return all;
  }

  [[nodiscard]] const std::vector<Recipe>& recipes() const { return recipes_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// "120 cases in 8.4 s"
  [[nodiscard]] std::string summary() const {
    return text("%zu cases in ", case_count_) + duration(progress_.elapsed_s());
  }

 private:
  void measure(const std::vector<CaseSpec>& group) {
    std::vector<Case> cases;
    for (const CaseSpec& spec : group)
      cases.push_back(resolve(spec, device_, session_.arena(), session_.precision().launch_s));
    const auto on_result = [&](const CaseResult& result, std::span<const SampleRow> samples) {
      measurements_[result.planned.id] = measurement_of(result, samples, session_.empty_launch_s());
      has_failed_ = has_failed_ || result.planned.status == Status::invalid;
      progress_.on_result(result.planned.id, result.has_time());
    };
    session_.measure(cases, 0, on_result, never_);
  }

  const Device& device_;
  Session session_;
  std::vector<Recipe> recipes_;
  std::size_t case_count_ = 0;
  Progress progress_;
  std::map<std::string, Measurement> measurements_;  ///< by case_id
  bool has_failed_ = false;
  const std::atomic<bool> never_{false};  ///< a calibration is not stopped
};

void print_estimates(const std::vector<Recipe>& recipes, const std::vector<Estimate>& estimates,
                     bool are_probes) {
  if (are_probes) std::cout << text("  %-24s %10s %12s\n", "fact", "model", "here");
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    if (are_probes) {
      const theory::Fact& fact = theory::fact_of(recipes[i].parameter);
      print_estimate(fact.name, fact.unit, estimates[i], fact.value);
    } else {
      const auto& field =
          *std::ranges::find(theory::parameter_fields(), recipes[i].parameter, &theory::ParameterField::name);
      print_estimate(field.name, field.unit, estimates[i], {});
    }
  }
}

int calibrate(const CalibrateOptions& o) {
  const Device device = open_device(o.device);
  if (is_debug_build() && !o.allow_debug)
    throw UserError(
        Exit::usage,
        "this is a Debug build: its times are not valid results; use preset release, or --allow-debug");
  const std::string run_folder = default_run_folder(device);
  const fs::path file = output_file(o, run_folder);

  Calibration calibration(device, o.probes);
  calibration.measure();
  const std::vector<Estimate> estimates = calibration.estimates();
  print_estimates(calibration.recipes(), estimates, o.probes);
  const std::string date = run_folder.substr(run_folder.find('/') + 1, 10);
  const auto json = (o.probes ? facts_json : parameters_json)(device, build_commit(), date,
                                                              calibration.recipes(), estimates);
  replace_file(file, json.dump(2) + "\n");
  std::cout << calibration.summary() << ", in " << file.string() << '\n';
  return static_cast<int>(calibration.has_failed() ? Exit::some_case_failed : Exit::ok);
}

void define_calibrate(CLI::App& command, Invocation& invocation) {
  auto o = std::make_shared<CalibrateOptions>();
  const auto not_empty = [](const std::string& text) { return text.empty() ? std::string("is empty") : ""; };
  command.add_option("--device", o->device, "Index, UUID or part of the name (default: the most capable)")
      ->type_name("GPU");
  command.add_flag("--probes", o->probes,
                   "Measure what the model assumes of every GPU, instead of this GPU's parameters");
  command
      .add_option("--output", o->output,
                  "File (default: results/<gpu>/parameters.json, or probes.json there)")
      ->type_name("FILE")
      ->check(not_empty);
  command.add_flag("--force", o->force, "Replace an existing file");
  command.add_flag("--allow-debug", o->allow_debug, "Accept a Debug build");
  command.callback([o, &invocation] { invocation.exit_code = calibrate(*o); });
}

}  // namespace

extern const Command calibrate_command{
    .name = "calibrate",
    .group = "Model",
    .description = "Measures the model's parameters on this GPU",
    .footer =
        "Example\n  occbench calibrate --output h200.json\n  occbench run --parameters h200.json\n"
        "  occbench calibrate --probes",
    .define = define_calibrate,
};

}  // namespace occbench::commands
