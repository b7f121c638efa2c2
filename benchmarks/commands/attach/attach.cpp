// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/attach.hpp"

#include <regex.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "benchmarks/commands/attach/apply.hpp"
#include "benchmarks/commands/attach/options.hpp"
#include "benchmarks/commands/attach/outputs.hpp"
#include "benchmarks/commands/attach/print.hpp"
#include "benchmarks/commands/attach/program.hpp"
#include "benchmarks/commands/attach/record.hpp"
#include "benchmarks/commands/attach/versions.hpp"
#include "benchmarks/report/table.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/attach/protocol/attachable.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

namespace {

/// What the library says of a launch that does not end, as soon as it does; whether it did.
bool says_stuck(const std::filesystem::path& raw) {
  std::error_code error;
  const std::filesystem::path path = raw / attach::stuck_file;
  if (!std::filesystem::exists(path, error)) return false;
  constexpr std::size_t room = 20'000;
  std::cerr << "occbench: " << printable(read_file(path, room))
            << ". Ctrl-C ends the program; without --all such grids are skipped.\n";
  return true;
}

/// What would be ignored beside an option.
const std::pair<const char*, std::vector<const char*>> without[] = {
    {"--observe", {"--levels", "--all", "--kernel", "--skip", "--precision"}},
    {"--registers", {"--levels"}},
    {"--apply", {"--levels", "--after", "--duration", "--budget", "--precision", "--skip", "--kernel"}},
};

/// As the library matches names.
bool any_is_named(const attach::Collected& all, const std::string& pattern) {
  regex_t compiled{};
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return true;
  const bool any = std::ranges::any_of(all.kernels, [&](const attach::Kernel& kernel) {
    return regexec(&compiled, kernel.name.c_str(), 0, nullptr, 0) == 0 ||
           regexec(&compiled, binary::demangled(kernel.name).c_str(), 0, nullptr, 0) == 0;
  });
  regfree(&compiled);
  return any;
}

/// After the program: what it left, on stderr and in the folder. Returns the exit code.
int keep(const AttachOptions& o, const std::vector<std::string>& program, const std::vector<double>& levels,
         const std::string& options, const std::filesystem::path& folder, const WorkFolder& work,
         std::optional<Outputs>& outputs, const SeenRun& seen) {
  const Ended& ended = seen.ended;
  attach::Collected all = attach::collect(work.path());
  std::optional<SeenRun> again;
  if (outputs && seen.is_well() && has_versions(all))
    again = outputs->run({.program = program}, "a plain one");
  const bool is_silent = again && again->is_same_output && seen.is_same_output && !seen.has_output;
  const bool is_told =  // whether two plain runs agree, on something
      again && again->is_well() && again->is_same_output && !is_silent;
  if (const char* const why = attach::why_not_attachable(path_of_program(program[0]).c_str()))
    all.complaints.push_back("'" + program[0] + "' is " + why + ": nothing can be attached to it");
  for (const std::string& complaint : all.complaints)
    print_wrapped(std::cerr, "occbench: " + printable(complaint));
  if (all.processes.empty()) {
    if (ended.why.empty())
      print_wrapped(std::cerr, "occbench: no process of '" + printable(program[0]) +
                                   "' used the CUDA driver, so nothing was measured");
    return ended.code;
  }
  std::vector<attach::Verdict> verdicts;
  for (const attach::Kernel& kernel : all.kernels) {
    static const theory::SmLimits none;
    verdicts.push_back(
        attach::judge(kernel, kernel.device < all.devices.size() ? all.devices[kernel.device].sm : none));
  }
  if (!all.kernels.empty()) {
    print_attached(std::cerr, all, verdicts, levels, o.observe || !o.registers.empty());
    if (const std::string said = attach::sentence_of_lower(all, verdicts); !said.empty()) {
      print_wrapped(std::cerr, said);
      std::cerr << "  occbench attach --apply best --from " << folder.string() << '\n';
    }
  } else if (all.complaints.empty()) {
    std::cerr << "occbench: the CUDA driver was loaded, and no kernel was launched"
              << (o.profiler_api ? " between cudaProfilerStart and cudaProfilerStop\n" : "\n");
  }
  if (!all.kernels.empty() && !o.kernel.empty() && !any_is_named(all, o.kernel))
    std::cerr << "occbench: no kernel's name matches --kernel '" << printable(o.kernel) << "'\n";
  if (!o.registers.empty() && !all.kernels.empty()) print_versions(std::cerr, all, !o.check_output);
  if (again && again->is_well())
    std::cerr << (is_silent  ? "stdout was empty, so that it says nothing of the caps.\n"
                  : !is_told ? "stdout differs between plain runs, so that it says nothing of the caps.\n"
                  : seen.is_same_output
                      ? "stdout was the same with caps and in two plain runs, byte for byte.\n"
                      : "stdout DIFFERS with caps, and not between plain runs.\n");
  if (o.by_range && !all.kernels.empty() && !all.has_ranges())
    std::cerr << "occbench: no kernel was launched within an NVTX range\n";
  work.clear();  // where the disk is full, that is the room for the results
  nlohmann::json env = {{"command_line", "occbench attach"},
                        {"program", program},
                        {"exit_code", ended.code},
                        {"observe", o.observe},
                        {"options", options}};
  if (is_told) env["same_stdout"] = seen.is_same_output;
  record_attached(folder, all, verdicts, env);
  if (const std::string text = registers_csv(all); !text.empty())
    replace_file(folder / "registers.csv", text);
  std::cerr << folder.string() << '\n';
  if (again && !again->is_well()) return again->ended.code;
  return is_told && !seen.is_same_output ? attach_failed : ended.code;
}

int run(AttachOptions o, const std::vector<std::string>& program) {
  if (o.check_output && o.registers.empty())
    throw UserError(Exit::usage, "--check-output is for --registers; --apply compares outputs by itself");
  if (!o.apply.empty()) return apply_levels(o, program);
  if (program.empty())
    throw UserError(Exit::usage, "which program? `occbench attach [OPTIONS] -- COMMAND...`");
  const std::vector<double> levels = levels_of(o.levels);
  check_pattern(o.kernel, "--kernel");
  if (o.by_range && std::getenv(attach::nvtx_variable) != nullptr) {
    std::cerr << "occbench: " << attach::nvtx_variable << " names another tool already: without ranges\n";
    o.by_range = false;
  }
  const std::string options = for_library(o, levels);
  const AttachLibrary library;
  check_program(program[0]);
  hold_signals();
  const RunFolder folder = o.output.empty() ? RunFolder::fresh(default_folder(program)) : RunFolder(o.output);
  if (std::filesystem::exists(folder.path() / "env.json"))
    throw UserError(Exit::file, folder.path().string() + ": holds results already; name another --output");
  const WorkFolder work(folder.path() / "processes");
  const std::filesystem::path& raw = work.path();
  ProgramRun what{
      .program = program,
      .library = library.path(),
      .variables = {{attach::folder_variable, raw.string()}, {attach::options_variable, options}}};
  if (!o.registers.empty()) write_ptx(program[0], raw);
  if (o.by_range) what.variables.emplace_back(attach::nvtx_variable, library.path());
  if (o.all) what.meanwhile = [raw, has_said = false]() mutable { has_said = has_said || says_stuck(raw); };
  std::optional<Outputs> outputs;
  if (o.check_output) {
    outputs.emplace(raw);
    if (const SeenRun plain = outputs->run({.program = program}, "a plain one"); !plain.is_well())
      return plain.ended.code;
  }
  const SeenRun seen = outputs ? outputs->run(what, "with caps") : SeenRun{.ended = run_attached(what)};
  const Ended& ended = seen.ended;
  if (!outputs && !ended.why.empty()) print_wrapped(std::cerr, "occbench: " + printable(ended.why));
  return kept_or_lost(folder, ended.code,
                      [&] { return keep(o, program, levels, options, folder.path(), work, outputs, seen); });
}

}  // namespace

std::vector<std::string> take_program(int& argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "attach") != 0) return {};
  for (int i = 2; i < argc; ++i)
    if (std::strcmp(argv[i], "--") == 0) {
      std::vector<std::string> program(argv + i + 1, argv + argc);
      argc = i;
      return program;
    }
  return {};
}

void add_attach(CLI::App& app, const std::vector<std::string>& program, int& exit_code) {
  CLI::App* attach = app.add_subcommand(
      "attach", "What occupancy is worth in a running program: python train.py, any CUDA binary");
  attach->group("Your kernel")
      ->footer(
          "Example\n"
          "  occbench attach -- python train.py\n"
          "  occbench attach --observe -- ./app --steps 100\n"
          "  occbench attach --budget 5% --after 1000 --kernel gemm -- python train.py\n"
          "  occbench attach --apply best -- python train.py\n"
          "\n"
          "The program's exit code is passed on; 125 is a failure of occbench itself.");
  const auto o = std::make_shared<AttachOptions>();
  const auto add = [&](const char* name, std::string& value, const char* does, const char* type) {
    attach->add_option(name, value, does)->type_name(type);
  };
  attach->add_flag("--observe", o->observe, "Changes no launch: kernels, times and occupancy alone");
  attach->add_flag("--all", o->all,
                   "Also grids within one residency: a watchdog names a kernel that then hangs");
  attach->add_flag("--by-range", o->by_range, "Tells kernels apart by the NVTX range they are launched in");
  attach->add_flag("--profiler-api", o->profiler_api,
                   "Only launches between the program's cudaProfilerStart and cudaProfilerStop");
  add("--output", o->output, "Folder for the results (default: results/attach/NAME)", "DIR");
  add("--kernel", o->kernel, "Changes only kernels whose name matches (POSIX extended)", "REGEX");
  add("--skip", o->skip, "First launches of each kernel that stay untouched (default: 3)", "N");
  add("--after", o->after, "First launches of each process that stay untouched: past autotuning", "N");
  add("--duration", o->duration, "Changes launches for this long from the first on (90, 5m)", "TIME");
  add("--budget", o->budget, "Most GPU time that slower launches and timing may add (default: 20%)", "SHARE");
  add("--precision", o->precision, "An arm known so well is drawn no more (default: 0.5%)", "SHARE");
  add("--levels", o->levels, "Shares of the natural warps (default: 3/4,1/2,1/4)", "LIST");
  add("--registers", o->registers,
      "Caps on registers to try in turn (32,40,64), of kernels with PTX, in place of levels", "LIST");
  attach->add_flag("--check-output", o->check_output,
                   "With --registers: two plain runs more, whose stdout is compared with the capped one's");
  add("--seed", o->seed, "Of the order of levels (default: 1)", "N");
  add("--limit", o->limit, "Bytes of timed launches that a process may leave (default: 32M)", "N");
  attach
      ->add_option("--apply", o->apply,
                   "Whole runs with that level in every launch against plain ones: best, or KERNEL=LEVEL")
      ->type_name("WHAT");
  add("--from", o->from, "Finished folder whose advice --apply best takes (default: the program's last)",
      "DIR");
  add("--pairs", o->pairs, "Pairs of runs that --apply compares (default: 6)", "N");
  add("--timing", o->timing,
      "What times launches: events (default), activity (CUPTI's records) or auto (these where the program "
      "has no CUPTI of its own)",
      "HOW");
  add("--children", o->children, "all, or none: only the process that is started", "WHICH");
  attach->allow_extras();  // the program, without --
  attach->callback([o, program, attach, &exit_code] {
    if (const std::vector<std::string> extras = attach->remaining(); !extras.empty())
      throw UserError(Exit::usage, extras[0].starts_with('-')
                                       ? "there is no option " + printable(extras[0])
                                       : "'" + printable(extras[0]) +
                                             "': the program stands behind --, as in " +
                                             "`occbench attach -- " + printable(extras[0]) + " ...`");
    for (const auto& [asked, others] : without)
      for (const char* other : others)
        if (attach->count(asked) > 0 && attach->count(other) > 0)
          throw UserError(Exit::usage, std::string(other) + " says nothing beside " + asked);
    for (const char* of_apply : {"--from", "--pairs"})
      if (attach->count(of_apply) > 0 && attach->count("--apply") == 0)
        throw UserError(Exit::usage, std::string(of_apply) + " is for --apply");
    exit_code = run(*o, program);
  });
}

}  // namespace occbench::commands
