// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/run/target.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "benchmarks/report/format.hpp"
#include "harness/measure/other_processes.hpp"
#include "harness/record/environment.hpp"
#include "harness/record/schema.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {

Target open_target(const RunOptions& o) {
  Target t;
  t.parameters = model_of(o.device);
  if (t.parameters) {
    if (!o.parameters.empty())
      throw UserError(Exit::usage,
                      "--parameters goes with a GPU; a model's are --device model:" + o.parameters);
    t.device = model_device(theory::find_device(t.parameters->catalogue_name));
    return t;
  }
  if (!o.parameters.empty()) t.parameters = read_parameters(o.parameters);
  t.device = open_device(o.device);
  if (!t.parameters) t.parameters = parameters_of_gpu(t.device.name);
  return t;
}

void check_quiet(const RunOptions& o, const Device& device) {
  if (!o.require_quiet && o.wait_quiet_s == 0) return;
  if (device.is_model)
    throw UserError(Exit::usage, "a model is always quiet; omit --require-quiet and --wait-quiet");
  const nvml::Monitor monitor(device.uuid);
  bool is_announced = false;
  const std::string why = wait_for_quiet(
      [&] { return other_gpu_users(monitor); }, std::chrono::duration<double>(o.wait_quiet_s),
      [&](const std::string& now) {
        if (!is_announced)
          std::cerr << "occbench: " << device.name << " is not quiet (" << now << "); waiting" << std::endl;
        is_announced = true;
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(1.0, o.wait_quiet_s)));
      });
  if (!why.empty()) throw UserError(Exit::no_device, device.name + " is not quiet: " + why);
}

void check_copy_bandwidth(const RunOptions& o, const Runner& runner) {
  if (!o.require_quiet && o.wait_quiet_s == 0) return;
  const Device& device = runner.device();
  if (const auto references = runner.references(); references && !references->has_undisturbed_copies(device))
    throw UserError(Exit::no_device,
                    device.name + " is not quiet: cudaMemcpy reaches " +
                        text("%.0f %%", 100 * references->memcpy_bytes_per_s / device.dram_bytes_per_s) +
                        " of DRAM peak");
}

RunFolder claim_folder(const RunOptions& o, const Device& device) {
  RunFolder folder = !o.resume.empty()   ? RunFolder(o.resume)
                     : !o.output.empty() ? RunFolder(o.output)
                                         : RunFolder::fresh("results/" + default_run_folder(device));
  if (!folder.is_locked())
    std::cerr << "occbench: " << folder.path().string()
              << ": this file system has no locks; let no other run write there\n";
  return folder;
}

Target resume_target(RunOptions& o, const nlohmann::json& env) try {
  const std::string where = o.resume + "/env.json";
  Target t;
  if (!env.contains("source")) throw UserError(Exit::file, where + ": source is missing");  // GPU or model?
  const std::string source = env["source"];
  if (source != "measured" && source != "model")
    throw UserError(Exit::file, where + ": source is neither measured nor model");
  if (const auto found = env.find("parameters"); found != env.end() && !found->is_null())
    t.parameters = ParameterFile::from_json(*found, where);
  if (source == "model") {
    if (!t.parameters) throw UserError(Exit::file, where + ": parameters are missing, and source is model");
    if (!o.device.empty())
      throw UserError(Exit::usage, o.resume + " is a run of a model, and resumes with it; omit --device");
    t.device = model_device(theory::find_device(t.parameters->catalogue_name));
  } else {
    t.device = open_target(o).device;
  }
  const std::string uuid = env.value("/gpu/uuid"_json_pointer, "");
  if (!is_uuid_of(uuid, t.device))
    throw UserError(Exit::usage, o.resume + " was measured on another device (" +
                                     env.value("/gpu/name"_json_pointer, "?") + " " + uuid + "), not on " +
                                     t.device.uuid);
  const std::string commit = env.value("git_commit", "") + (env.value("git_dirty", false) ? "-dirty" : "");
  if (commit != build_commit())
    throw UserError(Exit::usage, o.resume + " was started by build " + commit + ", this one is " +
                                     build_commit() + "; start a new folder");
  if (const std::string what = environment_complaint(env, schema_entries("env.json"), EnvironmentCheck::all);
      !what.empty())
    throw UserError(Exit::file, where + ": " + what);
  o.preset = env.value("preset", o.preset);
  o.experiments.clear();
  for (const auto& [name, _] : env.at("experiments").get<std::map<std::string, nlohmann::json>>())
    o.experiments.push_back(name);
  o.seed = env.value("seed", o.seed);
  o.precision = env.value("/method/ci95_half_width_target"_json_pointer, o.precision);
  o.counters = env.value("counters", o.counters);
  o.bands = env.value("bands", false);
  o.benchmark_filter = env.value("benchmark_filter", "");
  return t;
} catch (const nlohmann::json::exception&) {
  throw UserError(Exit::file, o.resume + "/env.json: a field is not of its schema's type");
}

}  // namespace occbench::commands
