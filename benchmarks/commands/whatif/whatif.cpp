// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/whatif/whatif.hpp"

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "benchmarks/commands/calc/payoff.hpp"
#include "benchmarks/commands/external.hpp"
#include "benchmarks/commands/whatif/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/binary/reading.hpp"
#include "harness/io/check.hpp"
#include "harness/io/child.hpp"
#include "harness/io/files.hpp"
#include "harness/theory/occupancy/cliffs.hpp"
#include "harness/whatif/code.hpp"

namespace occbench::commands {
namespace {

namespace fs = std::filesystem;
using whatif::Refused;

struct WhatIfOptions {
  std::string file, kernel, binary, code, device, parameters, grid, spilled;
  std::vector<std::string> registers, block_sizes, dynamic_smem, gpus;
  std::string format = "table";
  bool print_command = false;
};

/// The numbers among them.
struct Asked {
  std::vector<std::int64_t> registers, block_sizes, dynamic_smem;
  std::optional<int> grid;  ///< none: as many threads as were measured, or `waves`
  bool waves = false;
  std::optional<std::int64_t> spilled_bytes;
};

Asked parse(const WhatIfOptions& o) {
  const auto all = [](const std::vector<std::string>& texts, const char* what, std::int64_t least,
                      std::int64_t most) {
    std::vector<std::int64_t> numbers;
    for (const std::string& text : texts) numbers.push_back(parse_size(text, what, least, most));
    return numbers;
  };
  Asked asked{.registers = all(o.registers, "--registers", 1, 255),
              .block_sizes = all(o.block_sizes, "--block-size", 1, 1024),
              .dynamic_smem = all(o.dynamic_smem, "--dynamic-smem", 0, 1 << 20),
              .grid = {},
              .waves = o.grid == "waves",
              .spilled_bytes = {}};
  if (!o.grid.empty() && !asked.waves)
    asked.grid = static_cast<int>(parse_size(o.grid, "--grid", 1, 1 << 30));
  if (!o.spilled.empty()) asked.spilled_bytes = parse_size(o.spilled, "--spilled", 0, 1 << 20);
  return asked;
}

constexpr std::size_t name_room = 44;
constexpr std::size_t longest_code = std::size_t{64} << 20;

whatif::Gpu gpu_of(const std::string& name, const std::string& file) {
  const theory::DeviceSpec facts = theory::find_device(name);
  const ParameterFile parameters = parameters_for(facts.name, file);
  return {.facts = facts, .parameters = parameters.values, .ranges = parameters.ranges};
}

/// The GPU that the report is of: as it is called, or as its name is known.
whatif::Gpu own_gpu(const WhatIfOptions& o, const whatif::Profile& profile) {
  if (!o.device.empty()) return gpu_of(o.device, o.parameters);
  const auto name = profile.names.find("device__attribute_display_name");
  if (name != profile.names.end())
    if (const auto known = parameters_of_gpu(name->second))
      return gpu_of(known->catalogue_name, o.parameters);
  throw UserError(Exit::usage, "the report does not say on which GPU it was made; --device h200, for one");
}

/// The launch that is asked about: of one kernel, the one in the middle by its time.
whatif::Profile one_launch(std::vector<whatif::Profile> all, const WhatIfOptions& o,
                           const std::string& source) {
  std::set<std::string> names;
  std::erase_if(all, [&](const whatif::Profile& p) {
    return binary::demangled(p.kernel).find(o.kernel) == std::string::npos && p.kernel != o.kernel;
  });
  if (all.empty())
    throw UserError(Exit::file,
                    source + ": holds no launch" +
                        (o.kernel.empty() ? "" : " of a kernel with '" + o.kernel + "' in its name") +
                        " of ncu's page raw; `occbench whatif --print-ncu-command` makes one");
  for (const whatif::Profile& p : all) names.insert(binary::short_name(p.kernel, name_room));
  if (names.size() > 1) {
    std::string listed;
    for (auto name = names.begin(); name != names.end() && listed.size() < 200; ++name)
      listed += (listed.empty() ? "" : ", ") + *name;
    throw UserError(Exit::usage, source + ": holds several kernels; --kernel names one of " + listed);
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle, {},
                           [](const whatif::Profile& p) { return p.get("gpu__time_duration.sum"); });
  return *middle;
}

/// What describes the kernel's machine code: FILE itself, or what `occbench machine-code` makes of a binary.
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
  const ChildOutput said = run_child(words);
  if (said.exit_code == 0) return said.out;
  constexpr std::string_view name = "machine-code: ";
  const auto begin = said.out.find(name);
  if (begin == std::string::npos)
    throw UserError(Exit::tool_missing, "'" + tool->string() + "' failed: run it by itself");
  std::string line = said.out.substr(begin + name.size());
  line.erase(std::min(line.find('\n'), line.size()));
  if (said.exit_code == 1) throw Refused(line);
  throw UserError(said.exit_code == 5 ? Exit::tool_missing : Exit::file, line);
}

/// The grid of a changed launch.
int grid_of(const Asked& asked, const whatif::Anchored& kernel, const theory::Footprint& f) {
  if (asked.waves) return kernel.grid_in_waves(f);
  return asked.grid ? *asked.grid : kernel.grid_for(f.block_size);
}

/// Why other registers than the kernel's own cannot be answered; empty where they can.
std::string other_code(const Asked& asked, const whatif::Kernel& kernel, std::int64_t registers) {
  const int own = kernel.footprint.registers_per_thread;
  if (kernel.program.local_bytes > 0 && kernel.program.count(theory::Pipe::local_load) > 0)
    return "it loads from its " + grouped(kernel.program.local_bytes) +
           " B of local memory, which another cap changes; `occbench caps` compiles and times it";
  if (registers >= own) return "";
  if (!asked.spilled_bytes)
    return "fewer registers than its " + std::to_string(own) +
           " may spill; `occbench caps` says, and --spilled 0 that none does";
  if (*asked.spilled_bytes > 0)
    return "spills " + grouped(*asked.spilled_bytes) +
           " B, which no profile of the kernel without them shows; time it with "
           "`occbench caps --run`";
  return "";
}

class Asker {
 public:
  Asker(const Asked& asked, const whatif::Anchored& kernel) : asked_(asked), kernel_(kernel) {
    rows.push_back({.dial = "as measured",
                    .value = "",
                    .gpu = kernel.gpu().facts.name,
                    .launch = {kernel.kernel().footprint, kernel.kernel().grid_size},
                    .answer = kernel.now()});
  }

  std::vector<WhatIf> rows;

  void ask(const std::string& dial, const std::string& value, const theory::Footprint& f,
           const std::string& refused, const whatif::Gpu* there = nullptr) {
    const whatif::Gpu& gpu = there != nullptr ? *there : kernel_.gpu();
    WhatIf row{.dial = dial,
               .value = value,
               .gpu = gpu.facts.name,
               .launch = {f, grid_of(asked_, kernel_, f)},
               .answer = {}};
    try {
      if (!refused.empty()) throw Refused(refused);
      row.answer = kernel_.ask(row.launch, gpu);
    } catch (const Refused& why) {
      row.status = why.what();
    } catch (const std::invalid_argument& why) {
      row.status = why.what();
    }
    rows.push_back(std::move(row));
  }

  void registers(std::int64_t n) {
    theory::Footprint f = kernel_.kernel().footprint;
    f.registers_per_thread = static_cast<int>(n);
    ask("registers_per_thread", std::to_string(n), f, other_code(asked_, kernel_.kernel(), n));
  }
  void block_size(std::int64_t n) {
    theory::Footprint f = kernel_.kernel().footprint;
    f.block_size = static_cast<int>(n);
    ask("block_size", std::to_string(n), f, "");
  }
  void dynamic_smem(std::int64_t n) {
    theory::Footprint f = kernel_.kernel().footprint;
    f.dynamic_smem_bytes = static_cast<std::size_t>(n);
    ask("dynamic_smem_bytes", std::to_string(n), f, "");
  }

  /// Where nothing is asked for: the next steps of occupancy, and the usual block sizes.
  void usual() {
    const theory::Footprint& f = kernel_.kernel().footprint;
    const theory::AllCliffs next = theory::cliffs(kernel_.gpu().facts.sm, f);
    for (const auto& step : {next.registers.gains, next.registers.loses})
      if (step && step->blocks_per_sm > 0 && other_code(asked_, kernel_.kernel(), step->value).empty())
        registers(step->value);
    for (const int size : {64, 128, 256, 512, 1024})
      if (size != f.block_size) block_size(size);
    for (const auto& step : {next.dynamic_smem.gains, next.dynamic_smem.loses})
      if (step && step->blocks_per_sm > 0) dynamic_smem(step->value);
  }

 private:
  const Asked& asked_;
  const whatif::Anchored& kernel_;
};

bool run(const WhatIfOptions& o, std::ostream& out) {
  if (o.print_command) {
    out << whatif::ncu_command() << '\n';
    return true;
  }
  if (o.file.empty()) throw UserError(Exit::usage, "whatif needs FILE, or --print-ncu-command");
  const Asked asked = parse(o);
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
    Asker asker(asked, kernel);
    for (const std::int64_t n : asked.registers) asker.registers(n);
    for (const std::int64_t n : asked.block_sizes) asker.block_size(n);
    for (const std::int64_t n : asked.dynamic_smem) asker.dynamic_smem(n);
    for (const whatif::Gpu& other : others)
      asker.ask("gpu", other.facts.name, kernel.kernel().footprint, "", &other);
    if (asker.rows.size() == 1) asker.usual();
    print_whatif(out, o.format, kernel, asker.rows);
    if (!out.flush()) throw UserError(Exit::file, "standard output could not be written");
    return std::ranges::all_of(asker.rows, [](const WhatIf& row) { return row.answer.has_value(); });
  } catch (const Refused& why) {
    throw UserError(Exit::some_case_failed,
                    "whatif: " + binary::short_name(profile.kernel, name_room) + ": " + why.what());
  } catch (const std::invalid_argument& why) {
    throw UserError(Exit::some_case_failed,
                    "whatif: " + binary::short_name(profile.kernel, name_room) + ": " + why.what());
  }
}

}  // namespace

void add_whatif(CLI::App& app, int& exit_code) {
  CLI::App* whatif = app.add_subcommand(
      "whatif", "What other registers, blocks, shared memory or GPUs would give a profiled kernel");
  whatif->group("Your kernel")
      ->footer(
          "Example\n"
          "  occbench whatif report.csv --binary app --block-size 128,512 --gpu h100\n"
          "  occbench whatif --print-ncu-command");
  const auto o = std::make_shared<WhatIfOptions>();
  whatif
      ->add_option("FILE", o->file, "What the call of --print-ncu-command measured: its CSV, or an .ncu-rep")
      ->type_name("FILE");
  whatif->add_flag("--print-ncu-command", o->print_command, "The call of ncu that measures what is needed");
  CLI::Option* binary =
      whatif->add_option("--binary", o->binary, "The program or cubin that the kernel's machine code is in")
          ->type_name("FILE");
  whatif->add_option("--code", o->code, "What `occbench machine-code` wrote of that binary, instead")
      ->type_name("FILE")
      ->excludes(binary);
  whatif->add_option("--kernel", o->kernel, "The kernel with this in its name, of several")
      ->type_name("TEXT");
  whatif->add_option("--device", o->device, "The GPU that FILE is of (default: as FILE says)")
      ->type_name("NAME");
  whatif
      ->add_option("--parameters", o->parameters,
                   "What `occbench calibrate` wrote on it (default: known GPUs' own)")
      ->type_name("FILE");
  const auto list = [&](const char* option, std::vector<std::string>& texts, const char* help) {
    whatif->add_option(option, texts, help)->type_name("N,...")->delimiter(',');
  };
  list("--registers", o->registers, "Registers per thread, as a cap or as freed ones");
  list("--block-size", o->block_sizes, "Threads per block");
  list("--dynamic-smem", o->dynamic_smem, "Dynamic shared memory per block, bytes (48K)");
  list("--gpu", o->gpus, "Other GPUs, as --device knows them");
  whatif
      ->add_option("--grid", o->grid,
                   "Blocks of the changed launches: N, or waves where the grid is made to fill the GPU "
                   "(default: as many threads as were measured)")
      ->type_name("N");
  whatif->add_option("--spilled", o->spilled, "Bytes that fewer registers spill, as `occbench caps` says")
      ->type_name("N");
  whatif->add_option("--format", o->format, "table, markdown, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json"}));
  whatif->callback([o, &exit_code] {
    try {
      if (!run(*o, std::cout)) exit_code = static_cast<int>(Exit::some_case_failed);
    } catch (const std::invalid_argument& error) {
      throw UserError(Exit::usage, error.what());
    }
  });
}

}  // namespace occbench::commands
