// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach.hpp"

#include <regex.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "benchmarks/commands/attach_print.hpp"
#include "benchmarks/commands/attach_program.hpp"
#include "benchmarks/commands/attach_record.hpp"
#include "benchmarks/commands/numbers.hpp"
#include "benchmarks/words.hpp"
#include "harness/attach/collect.hpp"
#include "harness/attach/verdict.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

namespace {

struct AttachOptions {
  bool observe = false;
  std::string output, kernel, levels = "3/4,1/2,1/4", budget = "20%", precision = "0.5%", duration = "0",
                              children = "all", limit = "32M";
  std::string skip = "3", after = "0", seed = "1";
};

/// "0.05", "5%", "3/4". Throws std::invalid_argument.
double share_of(const std::string& words, const std::string& what) {
  const auto refuse = [&]() -> double {
    throw std::invalid_argument(what + " '" + words + "' is no share: write 3/4, 0.75 or 75%");
  };
  const auto real = [&](const std::string& number) {
    std::size_t end = 0;
    double value = NAN;
    try {
      value = std::stod(number, &end);
    } catch (const std::exception&) {
      refuse();
    }
    return end == number.size() && std::isfinite(value) ? value : refuse();
  };
  const std::size_t slash = words.find('/');
  if (slash != std::string::npos) {
    const double below = real(words.substr(slash + 1));
    return below > 0 ? real(words.substr(0, slash)) / below : refuse();
  }
  if (words.ends_with('%')) return real(words.substr(0, words.size() - 1)) / 100;
  return real(words);
}

std::vector<double> levels_of(const std::string& words) {
  std::vector<double> levels;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    const double share = share_of(words.substr(at, end - at), "--levels");
    if (share <= 0 || share >= 1) throw std::invalid_argument("--levels lie between 0 and 1 of the warps");
    levels.push_back(share);
    at = end + 1;
  }
  constexpr std::size_t most = attach::most_arms - attach::first_level;
  if (levels.size() > most) throw std::invalid_argument("--levels: at most " + std::to_string(most));
  return levels;
}

/// "90", "90s", "5m", "1h": seconds.
double seconds_of(const std::string& words) {
  double scale = 1;
  std::string number = words;
  if (!words.empty() && std::strchr("smh", words.back()) != nullptr) {
    scale = words.back() == 'm' ? 60 : words.back() == 'h' ? 3600 : 1;
    number.pop_back();
  }
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(number, &end);
  } catch (const std::exception&) {
  }
  if (end != number.size() || !std::isfinite(value) || value < 0)
    throw std::invalid_argument("--duration '" + words + "' is no time: write 90, 90s or 5m");
  return value * scale;
}

void check_pattern(const std::string& pattern) {
  regex_t compiled{};
  const int error = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) return regfree(&compiled);
  char why[120] = "";
  regerror(error, &compiled, why, sizeof why);
  throw std::invalid_argument("--kernel '" + pattern + "': " + why);
}

/// For the library, as harness/attach reads it.
std::string for_library(const AttachOptions& o, const std::vector<double>& levels) {
  const double budget = share_of(o.budget, "--budget"), precision = share_of(o.precision, "--precision");
  if (budget <= 0) throw std::invalid_argument("--budget must be more than 0");
  if (precision <= 0 || precision >= 1) throw std::invalid_argument("--precision lies between 0 and 100%");
  if (o.children != "all" && o.children != "none")
    throw std::invalid_argument("--children takes all or none");
  constexpr std::int64_t many = 1'000'000'000;
  constexpr std::int64_t least_limit = 65'536;
  std::string said = "observe=" + std::string(o.observe ? "1" : "0") +
                     ";seed=" + std::to_string(parse_size(o.seed, "--seed")) +
                     ";precision=" + shortest(precision) + ";budget=" + shortest(budget) +
                     ";skip=" + std::to_string(parse_size(o.skip, "--skip", 0, many)) +
                     ";after=" + std::to_string(parse_size(o.after, "--after")) +
                     ";duration=" + shortest(seconds_of(o.duration)) +
                     ";limit=" + std::to_string(parse_size(o.limit, "--limit", least_limit)) + ";levels=";
  for (const double share : levels) said += (said.back() == '=' ? "" : ",") + shortest(share);
  if (o.children == "none") said += ";only_child_of=" + std::to_string(getpid());
  if (!o.kernel.empty()) said += ";kernel=" + o.kernel;
  return said;
}

/// "results/attach/train.py": by the script, where there is one.
std::filesystem::path default_folder(const std::vector<std::string>& program) {
  std::string name = std::filesystem::path(program[0]).filename().string();
  if (name.starts_with("python"))
    for (const std::string& word : program)
      if (word.ends_with(".py")) name = std::filesystem::path(word).filename().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return std::filesystem::path("results") / "attach" / name;
}

int run(const AttachOptions& o, const std::vector<std::string>& program) {
  if (program.empty())
    throw UserError(Exit::usage, "which program? `occbench attach [OPTIONS] -- COMMAND...`");
  const std::vector<double> levels = levels_of(o.levels);
  check_pattern(o.kernel);
  const std::string options = for_library(o, levels);
  const std::string library = attach_library();
  check_program(program[0]);
  const RunFolder folder = o.output.empty() ? RunFolder::fresh(default_folder(program)) : RunFolder(o.output);
  if (std::filesystem::exists(folder.path() / "env.json"))
    throw UserError(Exit::file, folder.path().string() + ": holds results already; name another --output");
  const std::filesystem::path raw = std::filesystem::absolute(folder.path() / "processes");
  std::error_code error;
  std::filesystem::remove_all(raw, error);
  if (!std::filesystem::create_directory(raw, error)) fail(raw, error.message());

  std::string why;
  const int code = run_attached(
      program, library, {{attach::folder_variable, raw.string()}, {attach::options_variable, options}}, why);
  std::signal(SIGXFSZ,
              SIG_IGN);  // a quota is an error to be said, not an end; the program's own was left as it is
  if (!why.empty()) std::cerr << "occbench: " << printable(why) << '\n';
  const attach::Collected all = attach::collect(raw);
  if (all.processes.empty()) {
    std::filesystem::remove_all(raw, error);
    if (why.empty())
      std::cerr << "occbench: no process of '" << printable(program[0])
                << "' used the CUDA driver, so nothing was measured\n";
    return code;
  }
  std::vector<attach::Verdict> verdicts;
  for (const attach::Kernel& kernel : all.kernels) {
    static const theory::SmLimits none;
    verdicts.push_back(
        attach::judge(kernel, kernel.device < all.devices.size() ? all.devices[kernel.device].sm : none));
  }
  for (const std::string& complaint : all.complaints)
    std::cerr << "occbench: " << printable(complaint) << '\n';
  if (!all.kernels.empty())
    print_attached(std::cerr, all, verdicts, levels, o.observe);
  else if (all.complaints.empty())
    std::cerr << "occbench: the CUDA driver was loaded, and no kernel was launched\n";
  std::filesystem::remove_all(raw, error);  // where the disk is full, that is the room for the results
  record_attached(folder.path(), all, verdicts,
                  {{"command_line", "occbench attach"},
                   {"program", program},
                   {"exit_code", code},
                   {"observe", o.observe},
                   {"options", options}});
  std::cerr << folder.path().string() << '\n';
  return code;
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
          "  occbench attach --budget 5% --after 10000 --kernel 'gemm|norm' -- python train.py\n"
          "\n"
          "The program's exit code is passed on; 125 is a failure of occbench itself.");
  const auto o = std::make_shared<AttachOptions>();
  const auto add = [&](const char* name, std::string& value, const char* does, const char* type) {
    attach->add_option(name, value, does)->type_name(type);
  };
  attach->add_flag("--observe", o->observe, "Changes no launch: kernels, times and occupancy alone");
  add("--output", o->output, "Folder for the results (default: results/attach/NAME)", "DIR");
  add("--kernel", o->kernel, "Changes only kernels whose name matches (POSIX extended)", "REGEX");
  add("--skip", o->skip, "First launches of each kernel that stay untouched (default: 3)", "N");
  add("--after", o->after, "First launches of each process that stay untouched: past autotuning", "N");
  add("--duration", o->duration, "Changes launches for this long from the first on (90, 5m)", "TIME");
  add("--budget", o->budget, "Most GPU time that throttling may add (default: 20%)", "SHARE");
  add("--precision", o->precision, "An arm known so well is drawn no more (default: 0.5%)", "SHARE");
  add("--levels", o->levels, "Shares of the natural warps (default: 3/4,1/2,1/4)", "LIST");
  add("--seed", o->seed, "Of the order of levels (default: 1)", "N");
  add("--limit", o->limit, "Bytes of timed launches that a process may leave (default: 32M)", "N");
  add("--children", o->children, "all, or none: only the process that is started", "WHICH");
  attach->callback([o, program, &exit_code] { exit_code = run(*o, program); });
}

}  // namespace occbench::commands
