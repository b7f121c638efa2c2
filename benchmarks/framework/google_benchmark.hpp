// SPDX-License-Identifier: Apache-2.0
// One benchmark of Google Benchmark per case. Google Benchmark selects, orders and reports as usual; a
// benchmark's body asks the runner for its case, and the runner measures that case and the following ones as
// a group, in rounds.
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
  std::string file_format;           ///< of --benchmark_out: json, csv or console; empty: none
  std::size_t cases_per_group = 24;  ///< measured together
  const std::atomic<bool>* stop = nullptr;
  Runner::OnResult on_result;                 ///< every result, those of impossible cases first
  std::function<void(std::size_t)> selected;  ///< called once with the number of cases
};

/// Measures these cases, after parse_benchmark_flags(). Case i of `cases` is the benchmark named cases[i].id;
/// its manual time is the median of its launches. False where the file of --benchmark_out could not be
/// written completely.
bool run_benchmarks(Runner& runner, const std::vector<Case>& cases, const BenchmarkRun& run);

}  // namespace occbench
