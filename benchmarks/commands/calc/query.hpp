// SPDX-License-Identifier: Apache-2.0
// A question to `occbench calc` and its answer: exact occupancy, and what the model says of it.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "benchmarks/commands/calc/calc.hpp"
#include "benchmarks/commands/calc/payoff.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/theory/occupancy/answer.hpp"
#include "harness/theory/occupancy/cliffs.hpp"

namespace occbench::commands {

using theory::Answer;
using theory::Query;

/// One number of a query: its option on the command line and its column in a file.
struct Field {
  const char* option;
  const char* column;
  const char* help;
  bool required;
  std::int64_t least, most;
  void (*set)(Query&, std::int64_t);
};

inline constexpr Field fields[] = {
    {"--block-size", "block_size", "Threads per block; `all` ranks every multiple of 32", true, 0, INT_MAX,
     [](Query& q, std::int64_t v) { q.footprint.block_size = static_cast<int>(v); }},
    {"--registers", "registers_per_thread", "Registers per thread, as ptxas -v reports", true, 0, INT_MAX,
     [](Query& q, std::int64_t v) { q.footprint.registers_per_thread = static_cast<int>(v); }},
    {"--static-smem", "static_smem_bytes", "Static shared memory per block, bytes (32K, 48KiB)", true, 0,
     INT64_MAX,
     [](Query& q, std::int64_t v) { q.footprint.static_smem_bytes = static_cast<std::size_t>(v); }},
    {"--dynamic-smem", "dynamic_smem_bytes", "Dynamic shared memory per block, bytes", true, 0, INT64_MAX,
     [](Query& q, std::int64_t v) { q.footprint.dynamic_smem_bytes = static_cast<std::size_t>(v); }},
    {"--barriers", "barriers", "Named barriers, as ptxas -v reports (16 if an id is not constant)", false, 0,
     INT_MAX, [](Query& q, std::int64_t v) { q.footprint.barriers = static_cast<int>(v); }},
    {"--cluster-size", "cluster_size", "Blocks per cluster", false, 1, 16,
     [](Query& q, std::int64_t v) { q.cluster_size = static_cast<int>(v); }},
    {"--carveout", "carveout_percent", "Preferred shared memory, percent; -1 is the driver's choice", false,
     -1, 100, [](Query& q, std::int64_t v) { q.footprint.carveout_percent = static_cast<int>(v); }},
    {"--max-block-size", "max_block_size", "The kernel's own limit (__launch_bounds__)", false, 1, INT_MAX,
     [](Query& q, std::int64_t v) { q.footprint.max_block_size = static_cast<int>(v); }},
};

/// The numbers as the command line has them, in the order of `fields`; empty where it has none.
using NumberTexts = std::array<std::string, std::size(fields)>;
/// In place of a block size: each one.
inline constexpr const char* all_block_sizes = "all";
/// Sets those that are given, but for a block size of `all`. Throws std::invalid_argument.
void set_numbers(Query& query, const NumberTexts& texts);

inline constexpr const char* answer_columns[] = {"blocks_per_sm", "warps_per_sm", "occupancy", "limiters",
                                                 "status"};

Answer answer(const CalcDevice& device, const Query& query);
/// The answer's cells, in the order of `answer_columns`.
std::array<std::string, std::size(answer_columns)> cells(const Answer& a);

/// The query's numbers by column name, in the order of `fields`.
std::array<std::pair<const char*, std::int64_t>, std::size(fields)> numbers(const Query& query);

/// What was asked of the model, and its answer.
struct Predicted {
  ParameterFile parameters;
  theory::KernelClass kernel;
  theory::Peak peak;
  std::optional<Payoff> payoff;  ///< nullopt if the footprint cannot be launched

  [[nodiscard]] std::string origin() const {
    return printable(parameters.name + ", " + parameters.content.value("origin", "of unknown origin"));
  }
};

/// Asks the model about the query. Throws UserError on words or files that it cannot read.
Predicted predicted(const CalcDevice& device, const Query& query, const Answer& a, const ClassWords& words,
                    const std::string& file);

/// The class, the share of its peak and the bound; empty where nothing is predicted.
inline constexpr const char* predicted_columns[] = {"kernel_class", "predicted_percent_of_peak",
                                                    "predicted_bound"};
using PredictedCells = std::array<std::string, std::size(predicted_columns)>;
PredictedCells predicted_cells(const theory::KernelClass& kernel,
                               const std::optional<theory::ClassModel::Outcome>& outcome);

}  // namespace occbench::commands
