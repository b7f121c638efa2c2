// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <optional>
#include <set>

#include "benchmarks/commands/calc/predict.hpp"
#include "benchmarks/commands/external.hpp"
#include "benchmarks/commands/whatif/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/binary/reading.hpp"
#include "harness/io/check.hpp"
#include "harness/io/child.hpp"
#include "harness/io/files.hpp"
#include "harness/theory/occupancy/cliffs.hpp"
#include "harness/whatif/flow.hpp"

namespace occbench::commands {
namespace {

namespace fs = std::filesystem;
using whatif::UnsupportedProfile;

struct WhatIfOptions {
  std::string file, kernel, binary, code, device, parameters, grid, spilled;
  std::vector<std::string> registers, block_sizes, dynamic_smem, gpus;
  std::string format = "table";
  bool print_command = false;
};

/// The numbers of the options.
struct Requested {
  std::vector<std::int64_t> registers, block_sizes, dynamic_smem;
  std::optional<int> grid;  ///< nullopt: as many threads as were measured, or in waves
  bool is_grid_in_waves = false;
  std::optional<std::int64_t> spilled_bytes;
};

Requested parse(const WhatIfOptions& o) {
  const auto all = [](const std::vector<std::string>& texts, const char* what, std::int64_t least,
                      std::int64_t most) {
    std::vector<std::int64_t> numbers;
    for (const std::string& text : texts) numbers.push_back(parse_size(text, what, least, most));
    return numbers;
  };
  Requested requested{.registers = all(o.registers, "--registers", 1, 255),
                      .block_sizes = all(o.block_sizes, "--block-size", 1, 1024),
                      .dynamic_smem = all(o.dynamic_smem, "--dynamic-smem", 0, 1 << 20),
                      .grid = {},
                      .is_grid_in_waves = o.grid == "waves",
                      .spilled_bytes = {}};
  if (!o.grid.empty() && !requested.is_grid_in_waves)
    requested.grid = static_cast<int>(parse_size(o.grid, "--grid", 1, 1 << 30));
  if (!o.spilled.empty()) requested.spilled_bytes = parse_size(o.spilled, "--spilled", 0, 1 << 20);
  return requested;
}

constexpr std::size_t name_room = 44;
constexpr std::size_t longest_code = std::size_t{64} << 20;

whatif::Gpu gpu_of(const std::string& name, const std::string& file) {
  const theory::DeviceSpec facts = theory::find_device(name);
  const ParameterFile parameters = parameters_for(facts.name, file);
  return {.facts = facts, .parameters = parameters.values, .ranges = parameters.ranges};
}

/// The GPU of the report: --device, or by its name in the report.
whatif::Gpu own_gpu(const WhatIfOptions& o, const whatif::Profile& profile) {
  if (!o.device.empty()) return gpu_of(o.device, o.parameters);
  const auto name = profile.names.find("device__attribute_display_name");
  if (name != profile.names.end())
    if (const auto known = parameters_of_gpu(name->second))
      return gpu_of(known->catalogue_name, o.parameters);
  throw UserError(Exit::usage, "the report does not name its GPU; --device h200, for one");
}

/// Of the kernel's launches, the one with the median time.
whatif::Profile one_launch(std::vector<whatif::Profile> all, const WhatIfOptions& o,
                           const std::string& source) {
  std::set<std::string> names;
  std::erase_if(all, [&](const whatif::Profile& p) {
    return binary::demangle(p.kernel).find(o.kernel) == std::string::npos && p.kernel != o.kernel;
  });
  if (all.empty())
    throw UserError(Exit::file,
                    source + ": has no launch" +
                        (o.kernel.empty() ? "" : " of a kernel with '" + o.kernel + "' in its name") +
                        " of ncu's page raw; `occbench whatif --print-ncu-command` makes one");
  for (const whatif::Profile& p : all) names.insert(binary::short_name(p.kernel, name_room));
  if (names.size() > 1) {
    std::string listed;
    for (auto name = names.begin(); name != names.end() && listed.size() < 200; ++name)
      listed += (listed.empty() ? "" : ", ") + *name;
    throw UserError(Exit::usage, source + ": has several kernels; --kernel selects one of " + listed);
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle, {},
                           [](const whatif::Profile& p) { return p.get("gpu__time_duration.sum"); });
  return *middle;
}

/// The description of the kernel's machine code: --code, or made by `occbench machine-code` of --binary.
std::string code_text(const WhatIfOptions& o, const whatif::Profile& profile) {
  if (!o.code.empty()) return read_file(o.code, longest_code);
  if (o.binary.empty())
    throw UserError(Exit::usage,
                    "whatif needs --binary FILE, the program or cubin that the kernel's machine code is in");
  const char* const path = std::getenv("PATH");
  const auto tool = find_external("machine-code", fs::read_symlink("/proc/self/exe"), path ? path : "");
  if (!tool)
    throw UserError(Exit::tool_missing,
                    "--binary needs occbench's Python tools: `pip install './tools[audit]'` in the source");
  std::vector<std::string> words = whatif::machine_code_words(o.binary, profile);
  words.insert(words.begin(), tool->string());
  const ChildOutput output = run_child(words);
  if (output.exit_code == 0) return output.out;
  constexpr std::string_view name = "machine-code: ";
  const auto begin = output.out.find(name);
  if (begin == std::string::npos)
    throw UserError(Exit::tool_missing, "'" + tool->string() + "' failed; run it directly to see why");
  std::string line = output.out.substr(begin + name.size());
  line.erase(std::min(line.find('\n'), line.size()));
  if (output.exit_code == 1) throw UnsupportedProfile(line);
  throw UserError(output.exit_code == 5 ? Exit::tool_missing : Exit::file, line);
}

/// The grid of a changed launch.
int grid_of(const Requested& requested, const whatif::Anchored& kernel, const theory::Footprint& f) {
  if (requested.is_grid_in_waves) return kernel.grid_in_waves(f);
  return requested.grid ? *requested.grid : kernel.grid_for(f.block_size);
}

/// Why the model has no answer for another number of registers; empty otherwise.
std::string why_not_registers(const Requested& requested, const whatif::Kernel& kernel,
                              std::int64_t registers) {
  const int own = kernel.footprint.registers_per_thread;
  if (kernel.program.local_bytes > 0 && kernel.program.count(theory::Pipe::local_load) > 0)
    return "loads from " + with_thousands(kernel.program.local_bytes) +
           " B of local memory, which another cap changes; `occbench caps` compiles and times it";
  if (registers >= own) return "";
  if (!requested.spilled_bytes)
    return "fewer registers than its " + std::to_string(own) +
           " may spill; `occbench caps` shows, --spilled 0 states that none do";
  if (*requested.spilled_bytes > 0)
    return "spills " + with_thousands(*requested.spilled_bytes) +
           " B, which the profile does not show; time it with `occbench caps --run`";
  return "";
}

/// Asks about changes of one dial each.
class Changes {
 public:
  Changes(const Requested& requested, const whatif::Anchored& kernel)
      : requested_(requested), kernel_(kernel) {
    all.push_back({.dial = "as measured",
                   .value = "",
                   .gpu = kernel.gpu().facts.name,
                   .launch = {kernel.kernel().footprint, kernel.kernel().grid_size},
                   .answer = kernel.now()});
  }

  std::vector<Change> all;

  void ask(const std::string& dial, const std::string& value, const theory::Footprint& f,
           const std::string& why_not, const whatif::Gpu* other_gpu = nullptr) {
    const whatif::Gpu& gpu = other_gpu != nullptr ? *other_gpu : kernel_.gpu();
    Change change{.dial = dial,
                  .value = value,
                  .gpu = gpu.facts.name,
                  .launch = {f, grid_of(requested_, kernel_, f)},
                  .answer = {}};
    try {
      if (!why_not.empty()) throw UnsupportedProfile(why_not);
      change.answer = kernel_.ask(change.launch, gpu);
    } catch (const UnsupportedProfile& why) {
      change.status = why.what();
    } catch (const std::invalid_argument& why) {
      change.status = why.what();
    }
    all.push_back(std::move(change));
  }

  void change_registers(std::int64_t n) {
    theory::Footprint f = kernel_.kernel().footprint;
    f.registers_per_thread = static_cast<int>(n);
    ask("registers_per_thread", std::to_string(n), f, why_not_registers(requested_, kernel_.kernel(), n));
  }
  void change_block_size(std::int64_t n) {
    theory::Footprint f = kernel_.kernel().footprint;
    f.block_size = static_cast<int>(n);
    ask("block_size", std::to_string(n), f, "");
  }
  void change_dynamic_smem(std::int64_t n) {
    theory::Footprint f = kernel_.kernel().footprint;
    f.dynamic_smem_bytes = static_cast<std::size_t>(n);
    ask("dynamic_smem_bytes", std::to_string(n), f, "");
  }

  /// Without any requested: the next cliffs, and the usual block sizes.
  void change_usual() {
    const theory::Footprint& f = kernel_.kernel().footprint;
    const theory::AllCliffs next = theory::cliffs(kernel_.gpu().facts.sm, f);
    for (const auto& step : {next.registers.gains, next.registers.loses})
      if (step && step->blocks_per_sm > 0 &&
          why_not_registers(requested_, kernel_.kernel(), step->value).empty())
        change_registers(step->value);
    for (const int size : {64, 128, 256, 512, 1024})
      if (size != f.block_size) change_block_size(size);
    for (const auto& step : {next.dynamic_smem.gains, next.dynamic_smem.loses})
      if (step && step->blocks_per_sm > 0) change_dynamic_smem(step->value);
  }

 private:
  const Requested& requested_;
  const whatif::Anchored& kernel_;
};

bool run(const WhatIfOptions& o, std::ostream& out) {
  if (o.print_command) {
    out << whatif::ncu_command() << '\n';
    return true;
  }
  if (o.file.empty()) throw UserError(Exit::usage, "whatif needs FILE, or --print-ncu-command");
  const Requested requested = parse(o);
  const std::string source = "'" + o.file + "'";
  Descriptor file(open(o.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw UserError(Exit::file, "cannot read " + source + ": " + std::strerror(errno));
  const whatif::Profile profile =
      one_launch(whatif::read_profiles(binary::ncu_text(std::move(file), o.file, source)), o, source);
  const whatif::Gpu gpu = own_gpu(o, profile);
  std::vector<whatif::Gpu> others;
  for (const std::string& name : o.gpus) others.push_back(gpu_of(name, ""));
  try {
    theory::Program program = whatif::parse_code(code_text(o, profile));
    program.variant = profile.kernel;
    const whatif::Anchored kernel(whatif::kernel_of(profile, program, gpu.facts.sm, gpu.facts.l2_bytes), gpu);
    Changes changes(requested, kernel);
    for (const std::int64_t n : requested.registers) changes.change_registers(n);
    for (const std::int64_t n : requested.block_sizes) changes.change_block_size(n);
    for (const std::int64_t n : requested.dynamic_smem) changes.change_dynamic_smem(n);
    for (const whatif::Gpu& other : others)
      changes.ask("gpu", other.facts.name, kernel.kernel().footprint, "", &other);
    if (changes.all.size() == 1) changes.change_usual();
    print_whatif(out, o.format, kernel, changes.all);
    if (!out.flush()) throw UserError(Exit::file, "standard output could not be written");
    return std::ranges::all_of(changes.all, [](const Change& change) { return change.answer.has_value(); });
  } catch (const UnsupportedProfile& why) {
    throw UserError(Exit::some_case_failed,
                    "whatif: " + binary::short_name(profile.kernel, name_room) + ": " + why.what());
  } catch (const std::invalid_argument& why) {
    throw UserError(Exit::some_case_failed,
                    "whatif: " + binary::short_name(profile.kernel, name_room) + ": " + why.what());
  }
}

void define_whatif(CLI::App& command, Invocation& invocation) {
  const auto o = std::make_shared<WhatIfOptions>();
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type);
  };
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const char* help) {
    command.add_option(name, values, help)->type_name("N,...")->delimiter(',');
  };
  add("FILE", o->file, "Output of --print-ncu-command's command: CSV, or an .ncu-rep", "FILE");
  command.add_flag("--print-ncu-command", o->print_command,
                   "Print the ncu command that measures what is needed");
  CLI::Option* binary =
      add("--binary", o->binary, "The program or cubin with the kernel's machine code", "FILE");
  add("--code", o->code, "Or what `occbench machine-code` wrote of that binary", "FILE")->excludes(binary);
  add("--kernel", o->kernel, "Of several kernels, the one with this in its name", "TEXT");
  add("--device", o->device, "The GPU of FILE (default: as FILE says)", "NAME");
  add("--parameters", o->parameters,
      "What `occbench calibrate` wrote on it (default: built in for known GPUs)", "FILE");
  add_list("--registers", o->registers, "Registers per thread, by a cap or by freeing some");
  add_list("--block-size", o->block_sizes, "Threads per block");
  add_list("--dynamic-smem", o->dynamic_smem, "Dynamic shared memory per block, bytes (48K)");
  add_list("--gpu", o->gpus, "Other GPUs, as for --device");
  add("--grid", o->grid,
      "Blocks of the changed launches: N, or waves if the grid is made to fill the GPU (default: as many "
      "threads as were measured)",
      "N");
  add("--spilled", o->spilled, "Bytes that fewer registers spill, as `occbench caps` reports", "N");
  command.add_option("--format", o->format, "table, markdown, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json"}));
  command.callback([o, &invocation] {
    if (!run(*o, std::cout)) invocation.exit_code = static_cast<int>(Exit::some_case_failed);
  });
}

}  // namespace

extern const Command whatif_command{
    .name = "whatif",
    .group = "Your kernel",
    .description = "Predicts a profiled kernel's time with other registers, blocks, shared memory or GPUs",
    .footer =
        "Example\n"
        "  occbench whatif report.csv --binary app --block-size 128,512 --gpu h100\n"
        "  occbench whatif --print-ncu-command",
    .define = define_whatif,
};

}  // namespace occbench::commands
