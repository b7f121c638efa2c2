// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <occbench/program.hpp>

#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"
#include "harness/record/environment.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {

namespace {

struct ListOptions {
  std::string preset = "standard";
  std::vector<std::string> experiments;
  std::string device;
  std::string format = "table";
  bool variants = false;
  bool show_ncu = false;
  bool show_nsys = false;
};

/// Of the model, the real device if there is one, or an H200.
theory::SmLimits limits_of(const std::string& wanted) {
  if (const auto model = model_of(wanted)) return theory::find_device(model->catalogue_name).sm;
  const auto devices = enumerate_devices();
  if (wanted.empty() && devices.empty()) return theory::find_device("h200").sm;
  if (wanted.empty()) return choose_device(devices, "").device->sm;
  try {
    return theory::find_device(wanted).sm;
  } catch (const std::invalid_argument& e) {
    if (devices.empty()) throw UserError(Exit::usage, e.what());
    return choose_device(devices, wanted).device->sm;
  }
}

/// The offset of the kernel's host stub in this program's file, where `nm` finds the kernel's name.
std::uintptr_t entry_offset(const void* entry) {
  Dl_info info{};
  return dladdr(entry, &info) == 0
             ? 0
             : reinterpret_cast<std::uintptr_t>(entry) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
}

nlohmann::json json_of(const Variant& v) {
  return {{"family", v.family},
          {"variant", v.name},
          {"entry_offset", entry_offset(v.entry)},
          {"data_type", v.dials.data_type},
          {"ilp", v.dials.ilp},
          {"bytes_per_access", v.dials.bytes_per_access},
          {"register_route", to_string(v.dials.route)},
          {"register_cap", v.dials.register_cap},
          {"tile_width", v.dials.tile_width},
          {"live_values", v.dials.live_values},
          {"ceiling", to_string(v.ceiling)},
          {"min_cc", v.min_cc},
          {"only_this_cc", v.only_this_cc},
          {"may_spill", v.may_spill},
          {"spills_to_shared", v.spills_to_shared},
          {"predicted", v.predicted},
          {"hot_loops", v.hot_loops},
          {"loop_trips", v.loop_trips},
          {"instructions", v.instructions}};
}

constexpr Column<CaseSpec> case_columns[] = {
    {"case_id", [](const CaseSpec& c) { return Value(c.id()); }},
    {"experiment", [](const CaseSpec& c) { return Value(c.experiment); }},
    {"family", [](const CaseSpec& c) { return Value(c.variant->family); }},
    {"variant", [](const CaseSpec& c) { return Value(c.variant->name); }},
    {"block_size", [](const CaseSpec& c) { return digits(c.block_size); }},
    {"resident_blocks", [](const CaseSpec& c) { return digits(c.resident_blocks); }},
    {"ballast_bytes", [](const CaseSpec& c) { return digits(c.ballast_bytes); }},
    {"grid_size", [](const CaseSpec& c) { return digits(c.grid_size); }},
    {"cluster_size", [](const CaseSpec& c) { return digits(c.cluster_size); }},
    {"ilp", [](const CaseSpec& c) { return digits(c.variant->dials.ilp); }},
    {"bytes_per_access", [](const CaseSpec& c) { return digits(c.variant->dials.bytes_per_access); }},
    {"data_type", [](const CaseSpec& c) { return Value(c.variant->dials.data_type); }},
    {"register_route",
     [](const CaseSpec& c) { return Value(std::string(to_string(c.variant->dials.route))); }},
    {"register_cap", [](const CaseSpec& c) { return digits(c.variant->dials.register_cap); }},
};

void print_variants(const ListOptions& o) {
  if (o.format == "table") {
    for (const Variant& v : variants()) std::cout << v.family << '.' << v.name << '\n';
    std::cout << variants().size() << " variants\n";
    return;
  }
  if (o.format == "csv") throw UserError(Exit::usage, "list --variants prints a table or json");
  nlohmann::json all;
  all["cuda_toolkit"] = cuda_toolkit();
  all["variants"] = nlohmann::json::array();
  for (const Variant& v : variants()) all["variants"].push_back(json_of(v));
  std::cout << all.dump(1) << '\n';
}

/// A shell command per case. A case_id needs no quotes there, and holds no operator of ncu's filter.
void print_profiler_commands(const ListOptions& o, const std::vector<CaseSpec>& cases) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string device =
      o.device.empty() ? "" : " --device " + shell_quote(o.device);  // whose cases these are
  const std::string run = shell_quote(program) + " run --preset " + o.preset + device + " --profile --case ";
  for (const CaseSpec& c : cases) {
    const std::string id = c.id();
    if (o.show_ncu)
      std::cout << "ncu --nvtx --nvtx-include \"occbench@" << id << "/\" --clock-control none --set full -o "
                << id << ".ncu-rep " << run << id << '\n';
    if (o.show_nsys)
      std::cout << "nsys profile --trace cuda,nvtx --capture-range cudaProfilerApi -o " << id << ".nsys-rep "
                << run << id << " --launches 10\n";
  }
}

void print_cases(const ListOptions& o) {
  const auto cases = plan_cases(o.experiments, limits_of(o.device), parse_preset(o.preset));
  if ((o.show_ncu || o.show_nsys) && model_of(o.device))
    throw UserError(Exit::usage, "a model launches nothing to profile; name a GPU");
  if (o.show_ncu || o.show_nsys) return print_profiler_commands(o, cases);
  if (o.format == "csv") return print_csv(std::cout, case_columns, cases);
  std::map<std::string, std::size_t> count;
  for (const CaseSpec& c : cases) ++count[c.experiment];
  if (o.format == "json") {
    nlohmann::json all;
    all["experiments"] = nlohmann::json::array();
    all["cases"] = nlohmann::json::array();
    for (const Experiment& e : experiments())
      if (count.contains(e.name))
        all["experiments"].push_back(
            {{"name", e.name}, {"question", e.question}, {"dial", e.dial}, {"cases", count[e.name]}});
    for (const CaseSpec& c : cases) all["cases"].emplace_back(nlohmann::json(json_of(case_columns, c)));
    std::cout << all.dump(1) << '\n';
    return;
  }
  for (const Experiment& e : experiments())
    if (count.contains(e.name))
      print_wrapped(std::cout, e.question + " [dial: " + e.dial + "]",
                    text("%-18s%5zu cases  ", e.name.c_str(), count[e.name]));
  std::cout << cases.size() << " cases in preset " << o.preset << "; --format csv names each\n";
}

void define_list(CLI::App& command, Invocation&) {
  auto o = std::make_shared<ListOptions>();
  command.add_option("--preset", o->preset, "quick, standard, full or burn-in")
      ->type_name("PRESET:{quick,standard,full,burn-in}")
      ->capture_default_str();
  command.add_option("--experiment", o->experiments, "Only these, separated by commas")
      ->type_name("EXPERIMENT")
      ->delimiter(',');
  command
      .add_option(
          "--device", o->device,
          "Cases for this device: index, UUID or name, or model:h200 (default: this machine's GPU, or "
          "an H200)")
      ->type_name("DEVICE");
  command.add_option("--format", o->format, "table, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  auto* variants = command.add_flag("--variants", o->variants, "Compiled kernels instead of cases");
  auto* ncu = command.add_flag("--show-ncu", o->show_ncu, "Print each case's command for Nsight Compute")
                  ->excludes(variants);
  command.add_flag("--show-nsys", o->show_nsys, "Print each case's command for Nsight Systems")
      ->excludes(variants)
      ->excludes(ncu);
  command.callback([o] { o->variants ? print_variants(*o) : print_cases(*o); });
}

}  // namespace

extern const Command list_command{
    .name = "list",
    .group = "Query",
    .description = "Experiments and cases with their dials; runs nothing",
    .footer = "Example\n  occbench list --experiment registers --format csv",
    .define = define_list,
};

}  // namespace occbench::commands
