// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/benchmark_flags.hpp"

#include <benchmark/benchmark.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness/io/check.hpp"

namespace occbench {

namespace {

/// Google Benchmark ends the program itself on a bad value, so that values are checked here.
struct Flag {
  std::string_view name;
  const char* value;  ///< a regular expression
  const char* says;   ///< what the value must be; of a refused flag, what to use instead
  bool refused = false;
};

constexpr const char* boolean_values = "(true|false|yes|no|on|off|t|f|y|n|1|0)?";  // the only optional value
constexpr const char* true_or_false = "true or false";

constexpr Flag flags_known[] = {
    {"--benchmark_list_tests", boolean_values, true_or_false},
    {"--benchmark_filter", "(?s).*", "a regular expression"},
    {"--benchmark_repetitions", "[1-9][0-9]{0,5}", "a whole number from 1 on"},
    {"--benchmark_enable_random_interleaving", boolean_values, true_or_false},
    {"--benchmark_report_aggregates_only", boolean_values, true_or_false},
    {"--benchmark_display_aggregates_only", boolean_values, true_or_false},
    {"--benchmark_format", "console|json|csv", "console, json or csv"},
    {"--benchmark_out", ".+", "a path"},
    {"--benchmark_out_format", "console|json|csv", "console, json or csv"},
    {"--benchmark_color", "auto|true|false|yes|no|on|off|t|f|y|n|1|0", "auto, true or false"},
    {"--benchmark_counters_tabular", boolean_values, true_or_false},
    {"--benchmark_context", "[^=,]+=[^=,]*(,[^=,]+=[^=,]*)*", "KEY=VALUE,..."},
    {"--benchmark_time_unit", "ns|us|ms|s", "ns, us, ms or s"},
    {"--v", "-?[0-9]{1,4}", "a whole number"},
    {"--benchmark_min_time", ".*", "a case ends by its precision; --preset quick is the shorter run", true},
    {"--benchmark_min_warmup_time", ".*", "every case is warmed up by the launch that checks it", true},
    {"--benchmark_perf_counters", ".*", "those are the CPU's; --counters reads the GPU's", true},
    {"--benchmark_dry_run", ".*",
     "--benchmark_list_tests names the cases, --device model:h200 runs them without a GPU", true},
};

constexpr std::size_t filter_limit = 4096;  // bytes

struct ParsedFlag {
  const Flag* flag;
  std::string value;
};

ParsedFlag read(const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  const auto* const flag = std::ranges::find(flags_known, name, &Flag::name);
  if (flag == std::end(flags_known))
    throw UserError(Exit::usage, name.starts_with("--benchmark_")
                                     ? "Google Benchmark has no flag '" + text + "'"
                                     : "run has no '" + text + "'; see `occbench run --help`");
  if (flag->refused) throw UserError(Exit::usage, name + " has no meaning here: " + flag->says);
  const bool has_value = name.size() < text.size();
  const std::string value = has_value ? text.substr(name.size() + 1) : "";
  if ((!has_value && flag->value != boolean_values) || !RE2::FullMatch(value, flag->value))
    throw UserError(Exit::usage, text + ": the value must be " + flag->says);
  return {flag, value};
}

bool is_true(const std::string& value) {
  return value.empty() || value == "on" || std::string_view("ty1").find(value[0]) != std::string_view::npos;
}

void check_writable(const std::string& path) {
  std::error_code error;
  const bool is_new = !std::filesystem::exists(path, error);
  if (!std::ofstream(path, std::ios::app))
    throw UserError(Exit::file, path + ": cannot be written (--benchmark_out)");
  if (is_new) std::filesystem::remove(path, error);  // only tested
}

}  // namespace

std::vector<std::string> with_environment(const std::vector<std::string>& flags) {
  std::vector<std::string> all;
  for (const Flag& flag : flags_known) {
    std::string variable(flag.name.substr(2));
    if (!variable.starts_with("benchmark_")) continue;
    std::ranges::transform(variable, variable.begin(), [](char c) { return std::toupper(c); });
    const auto is_same_flag = [&](const std::string& text) {
      return text.substr(0, text.find('=')) == flag.name;
    };
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || std::ranges::any_of(flags, is_same_flag)) continue;
    all.push_back(std::string(flag.name) + "=" + value);
    try {
      static_cast<void>(read(all.back()));
    } catch (const UserError& e) {
      throw UserError(e.code(), e.what() + (" (the environment's " + variable + ")"));
    }
  }
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

BenchmarkFlags parse_benchmark_flags(const std::vector<std::string>& flags) {
  BenchmarkFlags result;
  for (const std::string& text : flags) {
    const ParsedFlag parsed = read(text);
    const std::string_view name = parsed.flag->name;
    if (name == "--benchmark_filter") result.filter = parsed.value;
    if (name == "--benchmark_list_tests") result.list_tests = is_true(parsed.value);
    if (name == "--benchmark_format") result.report_on_stdout = true;
    if (name == "--benchmark_format") result.csv_on_stdout = parsed.value == "csv";
    if (name == "--benchmark_out_format") result.file_format = parsed.value;
    if (name == "--benchmark_out") {
      result.writes_file = true;
      check_writable(parsed.value);
    }
  }
  static_cast<void>(benchmark_filter(result.filter));
  const auto is_out_format = [](const std::string& text) {
    return text.starts_with("--benchmark_out_format");
  };
  if (!result.writes_file && std::ranges::any_of(flags, is_out_format))
    throw UserError(Exit::usage, "--benchmark_out_format needs --benchmark_out=FILE");

  if (result.writes_file && result.file_format.empty()) result.file_format = "json";

  // The library keeps argv[0], and prints it at the end of the run.
  static std::vector<std::string> arguments;
  arguments.assign(1, "occbench");
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  static std::vector<char*> argv;
  argv.clear();
  for (std::string& each : arguments) argv.push_back(each.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::SetDefaultTimeUnit(benchmark::kMicrosecond);  // unless --benchmark_time_unit says another
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1)
    throw UserError(Exit::usage,
                    "Google Benchmark " + google_benchmark_version() + " has no flag '" + argv[1] + "'");
  return result;
}

std::function<bool(const std::string&)> benchmark_filter(std::string filter) {
  const bool negative = filter.starts_with('-');
  std::string pattern = negative ? filter.substr(1) : filter;
  if (pattern.empty() || pattern == "all") pattern = ".";
  if (pattern.size() > filter_limit)
    throw UserError(Exit::usage, "--benchmark_filter has " + std::to_string(pattern.size()) +
                                     " bytes, and may have " + std::to_string(filter_limit));
  // Linear in the name, whatever the pattern; the library's own std::regex is exponential, and recurses.
  const auto expression = std::make_shared<RE2>(pattern, RE2::Quiet);
  if (!expression->ok())
    throw UserError(Exit::usage, "--benchmark_filter '" + pattern +
                                     "' is not a regular expression: " + expression->error());
  return [expression, negative](const std::string& name) {
    return RE2::PartialMatch(name, *expression) != negative;
  };
}

std::string benchmark_flags_help() {
  constexpr std::size_t columns = 80;
  constexpr std::string_view prefix = "--benchmark_";
  std::string text = "Flags of Google Benchmark, --benchmark_...";
  for (const bool refused : {false, true}) {
    std::string line = refused ? "  refused: " : "  honoured:";
    for (const Flag& flag : flags_known) {
      if (flag.refused != refused) continue;
      const auto name = flag.name.substr(flag.name.starts_with(prefix) ? prefix.size() : 0);
      if (line.size() + 1 + name.size() > columns) {
        text += '\n' + line;
        line = std::string(11, ' ');
      }
      line.append(1, ' ').append(name);
    }
    text += '\n' + line;
  }
  return text;
}

std::string google_benchmark_version() { return OCCBENCH_GOOGLE_BENCHMARK_VERSION; }

}  // namespace occbench
