// SPDX-License-Identifier: Apache-2.0
// Google Benchmark's flags: each is honoured, or refused with a line on what to use instead.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace occbench {

/// The flags that matter to a run; Google Benchmark keeps the others.
struct BenchmarkFlags {
  std::string filter;             ///< --benchmark_filter as it was given
  bool list_tests = false;        ///< names alone, and no run
  bool report_on_stdout = false;  ///< --benchmark_format was given: Google Benchmark owns stdout
  bool writes_file = false;       ///< --benchmark_out was given
  bool csv_on_stdout = false;
  std::string file_format;  ///< of --benchmark_out: json, csv or console; empty without it
};

/// The flags, and before them those that the library would take from the environment: BENCHMARK_FILTER for
/// --benchmark_filter, unless the call names it. Throws UserError as parse_benchmark_flags does.
std::vector<std::string> with_environment(const std::vector<std::string>& flags);

/// Hands the flags to Google Benchmark, once in a process. Throws UserError: Exit::usage on a flag that it or
/// this program does not know, that is refused, or whose value is invalid; Exit::file when --benchmark_out
/// cannot be written.
BenchmarkFlags parse_benchmark_flags(const std::vector<std::string>& flags);

/// Matches as Google Benchmark does: a leading '-' inverts, empty and "all" match
/// everything. RE2's syntax. Throws UserError (Exit::usage) when it is not a regular expression, or has over
/// 4,096 bytes.
std::function<bool(const std::string&)> benchmark_filter(std::string filter);

/// For `run --help`: the names of those that are honoured, and of those that are refused, within 80 columns.
std::string benchmark_flags_help();

/// "1.7.1" where the library tells it, "unknown" otherwise.
std::string google_benchmark_version();

}  // namespace occbench
