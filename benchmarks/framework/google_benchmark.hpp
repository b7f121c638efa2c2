// SPDX-License-Identifier: Apache-2.0
// One case <-> one Google Benchmark. Google Benchmark selects, orders and reports as its users know it; a
// benchmark's body asks the runner for its case, and the runner measures that case together with its next
// neighbours, in rounds.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "harness/measure/runner.hpp"

namespace occbench {

struct BenchmarkRun {
  bool report_on_stdout = false;     ///< Google Benchmark's own reporter instead of silence
  bool csv_on_stdout = false;        ///< as its CSV
  std::string file_format;           ///< of --benchmark_out: json, csv or console; empty: none is asked for
  std::size_t cases_per_group = 24;  ///< handed to the runner together
  const std::atomic<bool>* stop = nullptr;
  Runner::Finished finished;                  ///< every result, the impossible ones first
  std::function<void(std::size_t)> selected;  ///< told once how many cases there are
};

/// Measures these cases, after parse_benchmark_flags(). Case i of `cases` is the benchmark named cases[i].id;
/// its manual time is the median of its launches. False where the file of --benchmark_out could not be
/// written whole.
bool run_benchmarks(Runner& runner, const std::vector<Case>& cases, const BenchmarkRun& run);

}  // namespace occbench
