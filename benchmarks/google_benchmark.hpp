// SPDX-License-Identifier: Apache-2.0
// One case <-> one Google Benchmark. Google Benchmark selects, orders and reports as its users know it; a benchmark's body
// asks the session for its case, and the session measures that case together with its next neighbours, in rounds.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "harness/session.hpp"

namespace occbench {

struct BenchmarkRun {
  std::vector<std::string> flags;    ///< --benchmark_* as given; the program's name is put in front
  std::size_t cases_per_group = 24;  ///< measured together: what a crash can cost
  const std::atomic<bool>* stop = nullptr;
  Session::Finished finished;  ///< every result, the impossible ones first
  std::function<void(std::size_t)> selected;  ///< told once how many cases the filter leaves
};

/// True when the flags ask Google Benchmark to list or to print on stdout itself.
bool reports_on_stdout(const std::vector<std::string>& flags);

/// "1.7.1" where the library tells it, "unknown" otherwise.
std::string google_benchmark_version();

/// Measures the cases that --benchmark_filter leaves. Case i of `cases` is the benchmark named cases[i].id; its manual
/// time is the median of its launches. Throws UserError(Exit::usage) on a flag that Google Benchmark does not know.
void run_benchmarks(Session& session, const std::vector<Case>& cases, const BenchmarkRun& run);

}  // namespace occbench
