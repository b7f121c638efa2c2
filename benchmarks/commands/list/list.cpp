// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "benchmarks/commands/commands.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/table.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
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

/// The model's, or the real device's where there is one; an H200's otherwise.
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

/// Where the kernel's host stub lies in this program's file: `nm` turns it into the kernel's name.
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
          {"least_cc", v.least_cc},
          {"only_this_cc", v.only_this_cc},
          {"may_spill", v.may_spill},
          {"spills_to_shared", v.spills_to_shared},
          {"predicted", v.predicted},
          {"hot_loops", v.hot_loops},
          {"loop_trips", v.loop_trips},
          {"instructions", v.instructions}};
}

csv::Row case_row(const CaseSpec& c) {
  const Dials& d = c.variant->dials;
  return {c.id(),
          c.experiment,
          c.variant->family,
          c.variant->name,
          std::to_string(c.block_size),
          std::to_string(c.resident_blocks),
          std::to_string(c.ballast_bytes),
          std::to_string(c.grid_size),
          std::to_string(c.cluster_size),
          std::to_string(d.ilp),
          std::to_string(d.bytes_per_access),
          d.data_type,
          std::string(to_string(d.route)),
          std::to_string(d.register_cap)};
}
const csv::Row case_header{
    "case_id",          "experiment",    "family",         "variant",      "block_size",
    "resident_blocks",  "ballast_bytes", "grid_size",      "cluster_size", "ilp",
    "bytes_per_access", "data_type",     "register_route", "register_cap"};

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

/// A line per case for a shell: Nsight Compute on that case alone, or Nsight Systems. The characters of a
/// case_id need no quotes there, and none of them is an operator of ncu's filter.
void print_profiler_calls(const ListOptions& o, const std::vector<CaseSpec>& cases) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string device =
      o.device.empty() ? "" : " --device " + shell_quoted(o.device);  // whose cases these are
  const std::string run = shell_quoted(program) + " run --preset " + o.preset + device + " --profile --case ";
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
    throw UserError(Exit::usage, "a model launches nothing that a profiler could see; name a GPU");
  if (o.show_ncu || o.show_nsys) return print_profiler_calls(o, cases);
  if (o.format == "csv") {
    std::cout << csv::format(case_header);
    for (const CaseSpec& c : cases) std::cout << csv::format(case_row(c));
    return;
  }
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
    for (const CaseSpec& c : cases) {
      nlohmann::json one;
      const csv::Row row = case_row(c);
      for (std::size_t i = 0; i < row.size(); ++i) one[case_header[i]] = row[i];
      all["cases"].push_back(one);
    }
    std::cout << all.dump(1) << '\n';
    return;
  }
  for (const Experiment& e : experiments())
    if (count.contains(e.name)) {
      std::ostringstream head;
      head << std::left << std::setw(18) << e.name << std::right << std::setw(5) << count[e.name]
           << " cases  ";
      print_wrapped(std::cout, e.question + " [dial: " + e.dial + "]", head.str());
    }
  std::cout << cases.size() << " cases in preset " << o.preset << "; --format csv names each\n";
}

}  // namespace

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "Experiments and cases with their dials; runs nothing");
  command->group("Look")->footer("Example\n  occbench list --experiment registers --format csv");
  auto o = std::make_shared<ListOptions>();
  command->add_option("--preset", o->preset, "quick, standard, full or burn-in")
      ->type_name("PRESET:{quick,standard,full,burn-in}")
      ->capture_default_str();
  command->add_option("--experiment", o->experiments, "Only these, separated by commas")
      ->type_name("EXPERIMENT")
      ->delimiter(',');
  command
      ->add_option(
          "--device", o->device,
          "Whose dials: index, UUID or name, or model:h200 (default: this machine's, else an H200's)")
      ->type_name("DEVICE");
  command->add_option("--format", o->format, "table, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  auto* kernels = command->add_flag("--variants", o->variants, "The compiled kernels instead of the cases");
  auto* ncu = command->add_flag("--show-ncu", o->show_ncu, "For each case, how to see it in Nsight Compute")
                  ->excludes(kernels);
  command->add_flag("--show-nsys", o->show_nsys, "For each case, how to see it in Nsight Systems")
      ->excludes(kernels)
      ->excludes(ncu);
  command->callback([o] { o->variants ? print_variants(*o) : print_cases(*o); });
}

}  // namespace occbench::commands
