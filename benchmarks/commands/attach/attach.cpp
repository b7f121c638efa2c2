// SPDX-License-Identifier: Apache-2.0
#include <regex.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "benchmarks/commands/attach/folder.hpp"
#include "benchmarks/commands/attach/options.hpp"
#include "benchmarks/commands/attach/outputs.hpp"
#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/commands/attach/program.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/attach/protocol/attachable.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

namespace {

/// Prints the library's sentence on a launch that does not end; whether there is one.
bool print_stuck(const std::filesystem::path& raw) {
  std::error_code error;
  const std::filesystem::path path = raw / attach::stuck_file;
  if (!std::filesystem::exists(path, error)) return false;
  constexpr std::size_t room = 20'000;
  std::cerr << "occbench: " << printable(read_file(path, room))
            << ". Ctrl-C ends the program; without --all such grids are skipped.\n";
  return true;
}

/// Options that have no effect with another.
const std::pair<const char*, std::vector<const char*>> no_effect_with[] = {
    {"--observe", {"--levels", "--sms", "--all", "--kernel", "--skip", "--precision"}},
    {"--registers", {"--levels", "--sms", "--counters"}},
    {"--all", {"--counters"}},
    {"--apply",
     {"--levels", "--sms", "--counters", "--after", "--duration", "--budget", "--precision", "--skip",
      "--kernel"}},
};

/// Whether a kernel matches, as the library matches names.
bool has_match(const attach::Collected& all, const std::string& pattern) {
  regex_t compiled{};
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return true;
  const bool any = std::ranges::any_of(all.kernels, [&](const attach::Kernel& kernel) {
    return regexec(&compiled, kernel.name.c_str(), 0, nullptr, 0) == 0 ||
           regexec(&compiled, binary::demangle(kernel.name).c_str(), 0, nullptr, 0) == 0;
  });
  regfree(&compiled);
  return any;
}

/// The program has ended: prints what was found on stderr, and writes it into the folder.
class Conclusion {
 public:
  /// `outputs` of --check-output; null: stdout is not compared.
  Conclusion(const AttachOptions& options, const std::vector<std::string>& program,
             const std::vector<double>& levels, const RunOutcome& run, Outputs* outputs)
      : options_(options), program_(program), levels_(levels), run_(run), outputs_(outputs) {}

  /// Returns the exit code.
  int conclude(const std::filesystem::path& folder, const WorkFolder& work, const std::string& for_library) {
    all_ = attach::collect(work.path());
    all_.time.wall_s = run_.exit.wall_s;
    if (outputs_ != nullptr && run_.has_succeeded() && has_versions(all_))
      second_plain_ = outputs_->run({.program = program_}, "without changes");
    print_complaints();
    if (all_.processes.empty()) return run_.exit.code;
    judge();
    print_kernels(folder);
    print_notes();
    work.clear();  // where the disk is full, that is the room for the results
    write(folder, for_library);
    if (second_plain_ && !second_plain_->has_succeeded()) return second_plain_->exit.code;
    return is_output_comparable() && !run_.is_same_output ? own_failure : run_.exit.code;
  }

 private:
  void print_complaints() {
    if (const char* const why = attach::why_not_attachable(path_of_program(program_[0]).c_str()))
      all_.warnings.push_back("'" + program_[0] + "' is " + why + ": nothing can be attached to it");
    for (const std::string& warning : all_.warnings)
      print_wrapped(std::cerr, "occbench: " + printable(warning));
    if (all_.processes.empty() && run_.exit.why.empty())
      print_wrapped(std::cerr, "occbench: no process of '" + printable(program_[0]) +
                                   "' used the CUDA driver, so nothing was measured");
  }

  void judge() {
    static const theory::SmLimits none;
    for (const attach::Kernel& kernel : all_.kernels)
      verdicts_.push_back(
          attach::judge(kernel, kernel.device < all_.devices.size() ? all_.devices[kernel.device].sm : none));
  }

  void print_kernels(const std::filesystem::path& folder) const {
    if (all_.kernels.empty()) {
      if (all_.warnings.empty())
        std::cerr << "occbench: the CUDA driver was loaded, and no kernel was launched"
                  << (options_.profiler_api ? " between cudaProfilerStart and cudaProfilerStop\n" : "\n");
      return;
    }
    print_attached(std::cerr, all_, verdicts_, levels_, options_.observe || !options_.registers.empty());
    if (options_.sms) print_sm_shares(std::cerr, all_, verdicts_);
    if (const std::string faster = attach::sentence_of_lower(all_, verdicts_); !faster.empty()) {
      print_wrapped(std::cerr, faster);
      std::cerr << "  occbench attach --apply best --from " << folder.string() << '\n';
    }
    if (!options_.kernel.empty() && !has_match(all_, options_.kernel))
      std::cerr << "occbench: no kernel's name matches --kernel '" << printable(options_.kernel) << "'\n";
    if (!options_.registers.empty()) print_versions(std::cerr, all_, verdicts_, !options_.check_output);
  }

  void print_notes() const {
    if (second_plain_ && second_plain_->has_succeeded())
      std::cerr << (is_silent()               ? "stdout was empty: it cannot verify the caps.\n"
                    : !is_output_comparable() ? "stdout differs between plain runs, so that it says nothing "
                                                "of the caps.\n"
                    : run_.is_same_output
                        ? "stdout was the same with caps and in two plain runs, byte for byte.\n"
                        : "stdout DIFFERS with caps, and not between plain runs.\n");
    if (options_.by_range && !all_.kernels.empty() && !all_.has_ranges())
      std::cerr << "occbench: no kernel was launched within an NVTX range\n";
  }

  /// No run printed anything.
  [[nodiscard]] bool is_silent() const {
    return second_plain_ && second_plain_->is_same_output && run_.is_same_output && !run_.has_output;
  }

  /// Whether two plain runs agree, on something.
  [[nodiscard]] bool is_output_comparable() const {
    return second_plain_ && second_plain_->has_succeeded() && second_plain_->is_same_output && !is_silent();
  }

  void write(const std::filesystem::path& folder, const std::string& for_library) const {
    nlohmann::json env = {{"command_line", "occbench attach"},
                          {"program", program_},
                          {"exit_code", run_.exit.code},
                          {"observe", options_.observe},
                          {"options", for_library}};
    if (is_output_comparable()) env["same_stdout"] = run_.is_same_output;
    record_attached(folder, all_, verdicts_, env);
    if (const std::string text = registers_csv(verdicts_); !text.empty())
      replace_file(folder / "registers.csv", text);
    write_attached_findings(folder);
    std::cerr << folder.string() << '\n';
  }

  const AttachOptions& options_;
  const std::vector<std::string>& program_;
  const std::vector<double>& levels_;
  const RunOutcome& run_;
  Outputs* outputs_;
  std::optional<RunOutcome> second_plain_;
  attach::Collected all_;
  std::vector<attach::Verdict> verdicts_;
};

/// Throws UserError or std::invalid_argument.
void check_options(const AttachOptions& o, const std::vector<std::string>& program) {
  if (o.check_output && o.registers.empty())
    throw UserError(Exit::usage, "--check-output is for --registers; --apply compares outputs by itself");
  if (!o.apply.empty()) return;
  if (program.empty())
    throw UserError(Exit::usage, "which program? `occbench attach [OPTIONS] -- COMMAND...`");
}

RunFolder folder_for(const AttachOptions& o, const std::vector<std::string>& program) {
  RunFolder folder = o.output.empty() ? RunFolder::fresh(default_folder(program)) : RunFolder(o.output);
  if (std::filesystem::exists(folder.path() / "env.json"))
    throw UserError(Exit::file, folder.path().string() + ": holds results already; name another --output");
  return folder;
}

int run(AttachOptions o, const std::vector<std::string>& program) {
  check_options(o, program);
  if (!o.apply.empty()) return apply_levels(o, program);
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
  const RunFolder folder = folder_for(o, program);
  const WorkFolder work(folder.path() / "processes");
  const std::filesystem::path& raw = work.path();
  ProgramRun what{
      .program = program,
      .library = library.path(),
      .variables = {{attach::folder_variable, raw.string()}, {attach::options_variable, options}}};
  if (!o.registers.empty()) write_ptx(program[0], raw);
  if (o.by_range) what.variables.emplace_back(attach::nvtx_variable, library.path());
  if (o.all)
    what.meanwhile = [raw, is_printed = false]() mutable { is_printed = is_printed || print_stuck(raw); };
  std::optional<Outputs> outputs;
  if (o.check_output) {
    outputs.emplace(raw);
    if (const RunOutcome plain = outputs->run({.program = program}, "without changes");
        !plain.has_succeeded())
      return plain.exit.code;
  }
  const RunOutcome outcome =
      outputs ? outputs->run(what, "with caps") : RunOutcome{.exit = run_attached(what)};
  if (!outputs && !outcome.exit.why.empty())
    print_wrapped(std::cerr, "occbench: " + printable(outcome.exit.why));
  Conclusion conclusion(o, program, levels, outcome, outputs ? &*outputs : nullptr);
  return write_or_report_loss(folder, outcome.exit.code,
                              [&] { return conclusion.conclude(folder.path(), work, options); });
}

/// Throws UserError.
void check_call(const CLI::App& attach) {
  if (const std::vector<std::string> extras = attach.remaining(); !extras.empty())
    throw UserError(Exit::usage, extras[0].starts_with('-')
                                     ? "there is no option " + printable(extras[0])
                                     : "'" + printable(extras[0]) + "': put the program after --, as in " +
                                           "`occbench attach -- " + printable(extras[0]) + " ...`");
  for (const auto& [option, others] : no_effect_with)
    for (const char* other : others)
      if (attach.count(option) > 0 && attach.count(other) > 0)
        throw UserError(Exit::usage, std::string(other) + " has no effect with " + option);
  for (const char* of_apply : {"--from", "--pairs"})
    if (attach.count(of_apply) > 0 && attach.count("--apply") == 0)
      throw UserError(Exit::usage, std::string(of_apply) + " is for --apply");
}

void define_attach(CLI::App& command, Invocation& invocation) {
  CLI::App* const attach = &command;
  const auto o = std::make_shared<AttachOptions>();
  const auto add = [&](const char* name, std::string& value, const char* does, const char* type) {
    attach->add_option(name, value, does)->type_name(type);
  };
  attach->add_flag("--observe", o->observe, "Change no launch: kernels, times and occupancy only");
  attach->add_flag("--all", o->all,
                   "Also change grids that fit in one wave, whose blocks may wait for each other; a watchdog "
                   "reports hangs");
  attach->add_flag("--counters", o->counters,
                   "Also sample GPU counters (CUPTI): shows what limits kernels that cannot be changed");
  attach->add_flag("--by-range", o->by_range, "Separate kernels by the NVTX range they are launched in");
  attach->add_flag("--profiler-api", o->profiler_api,
                   "Only launches between the program's cudaProfilerStart and cudaProfilerStop");
  add("--output", o->output, "Folder for the results (default: results/attach/NAME)", "DIR");
  add("--kernel", o->kernel, "Change only kernels whose name matches (POSIX extended)", "REGEX");
  add("--skip", o->skip, "First launches of each kernel that stay unchanged (default: 3)", "N");
  add("--after", o->after, "Leave the first N launches of each process unchanged (to skip autotuning)", "N");
  add("--duration", o->duration, "Change launches for this long from the first on (90, 5m)", "TIME");
  add("--budget", o->budget, "Maximum GPU time that slower launches and timing may add (default: 20%)",
      "SHARE");
  add("--precision", o->precision, "Stop sampling an arm at this precision (default: 0.5%)", "SHARE");
  add("--levels", o->levels, "Levels as shares of the kernel's own warps (default: 3/4,1/2,1/4)", "LIST");
  add("--registers", o->registers, "Register caps to try (32,40,64) on kernels with PTX, in place of levels",
      "LIST");
  attach->add_flag("--sms", o->sms, "Also confine launches to 3/4, 1/2 and 1/4 of the SMs (green contexts)");
  attach->add_flag("--check-output", o->check_output,
                   "With --registers: compare stdout with that of two more plain runs");
  add("--seed", o->seed, "Seed of the order of levels (default: 1)", "N");
  add("--limit", o->limit, "Bytes of timed launches that a process may write (default: 32M)", "N");
  attach
      ->add_option("--apply", o->apply,
                   "Compare whole runs with and without a level in every launch: best, or KERNEL=LEVEL")
      ->type_name("WHAT");
  add("--from", o->from, "Results whose levels --apply best takes (default: the program's last)", "DIR");
  add("--pairs", o->pairs,
      "Maximum pairs of runs of --apply; it stops early at a significant difference (default: 20)", "N");
  add("--timing", o->timing,
      "What times launches: events (default), activity (CUPTI records) or auto (records if the program "
      "does not use CUPTI itself)",
      "HOW");
  add("--children", o->children, "all, or none: only the process that is started", "WHICH");
  attach->allow_extras();  // the program, without --
  attach->callback([o, attach, &invocation] {
    check_call(*attach);
    invocation.exit_code = run(*o, invocation.program);
  });
}

}  // namespace

extern const Command attach_command{
    .name = "attach",
    .group = "Your kernel",
    .description =
        "Measures how much occupancy matters to each kernel of a program: python train.py, any CUDA binary",
    .footer =
        "Example\n"
        "  occbench attach -- python train.py\n"
        "  occbench attach --observe -- ./app --steps 100\n"
        "  occbench attach --budget 5% --after 1000 --kernel gemm -- python train.py\n"
        "  occbench attach --apply best -- python train.py\n"
        "\n"
        "The program's exit code is passed on; 125 is a failure of occbench itself.",
    .define = define_attach,
    .runs_program = true,
};

}  // namespace occbench::commands
