// SPDX-License-Identifier: Apache-2.0
// A query to `occbench calc` and its answer: exact occupancy, and the model's prediction.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>

#include "benchmarks/commands/calc/calc.hpp"
#include "benchmarks/commands/calc/predict.hpp"
#include "harness/theory/occupancy/answer.hpp"

namespace occbench::commands {

using theory::Answer;
using theory::Query;

/// One number of a query: its option on the command line and its column in a file.
struct Field {
  const char* option;
  const char* column;
  const char* help;
  bool is_required;  ///< in a batch
  std::int64_t least, most;
  std::int64_t (*get)(const Query&);
  void (*set)(Query&, std::int64_t);
  /// Of a shape such as 8x8x1: the largest x, y and z. 0: a number alone.
  std::array<std::int64_t, 3> most_sides = {};

  /// Throws std::invalid_argument with a line that names `what`.
  [[nodiscard]] std::int64_t parse(const std::string& text, const char* what) const;
  /// A value below the least is not known, as 0 blocks of a grid.
  [[nodiscard]] bool is_known(const Query& query) const { return get(query) >= least; }
};

inline constexpr Field fields[] = {
    {"--block-size",
     "block_size",
     "Threads per block (256, 8x8x1); `all` ranks every multiple of 32",
     true,
     0,
     INT_MAX,
     [](const Query& q) -> std::int64_t { return q.footprint.block_size; },
     [](Query& q, std::int64_t v) { q.footprint.block_size = static_cast<int>(v); },
     {1024, 1024, 64}},
    {"--registers", "registers_per_thread", "Registers per thread, as ptxas -v reports", true, 0, INT_MAX,
     [](const Query& q) -> std::int64_t { return q.footprint.registers_per_thread; },
     [](Query& q, std::int64_t v) { q.footprint.registers_per_thread = static_cast<int>(v); }},
    {"--static-smem", "static_smem_bytes", "Static shared memory per block, bytes (32K, 48KiB)", true, 0,
     INT64_MAX, [](const Query& q) { return static_cast<std::int64_t>(q.footprint.static_smem_bytes); },
     [](Query& q, std::int64_t v) { q.footprint.static_smem_bytes = static_cast<std::size_t>(v); }},
    {"--dynamic-smem", "dynamic_smem_bytes", "Dynamic shared memory per block, bytes", true, 0, INT64_MAX,
     [](const Query& q) { return static_cast<std::int64_t>(q.footprint.dynamic_smem_bytes); },
     [](Query& q, std::int64_t v) { q.footprint.dynamic_smem_bytes = static_cast<std::size_t>(v); }},
    {"--barriers", "barriers", "Named barriers, as ptxas -v reports (16 if an id is not constant)", false, 0,
     INT_MAX, [](const Query& q) -> std::int64_t { return q.footprint.barriers; },
     [](Query& q, std::int64_t v) { q.footprint.barriers = static_cast<int>(v); }},
    {"--cluster-size", "cluster_size", "Blocks per cluster", false, 1, 16,
     [](const Query& q) -> std::int64_t { return q.cluster_size; },
     [](Query& q, std::int64_t v) { q.cluster_size = static_cast<int>(v); }},
    {"--carveout", "carveout_percent", "Preferred shared memory, percent; -1 is the driver's choice", false,
     -1, 100, [](const Query& q) -> std::int64_t { return q.footprint.carveout_percent; },
     [](Query& q, std::int64_t v) { q.footprint.carveout_percent = static_cast<int>(v); }},
    {"--max-block-size", "max_block_size", "The kernel's own limit (__launch_bounds__)", false, 1, INT_MAX,
     [](const Query& q) -> std::int64_t { return q.footprint.max_block_size; },
     [](Query& q, std::int64_t v) { q.footprint.max_block_size = static_cast<int>(v); }},
    {"--grid",
     "grid_size",
     "Blocks of the launch (4096, 9x32x1): waves, idle SMs and the last wave's share",
     false,
     1,
     INT64_MAX,
     [](const Query& q) { return q.grid_blocks; },
     [](Query& q, std::int64_t v) { q.grid_blocks = v; },
     {INT_MAX, 65535, 65535}},
};

/// The numbers as the command line has them, in the order of `fields`; empty where it has none.
using NumberTexts = std::array<std::string, std::size(fields)>;
/// In place of a block size: each one.
inline constexpr const char* all_block_sizes = "all";
/// Sets those that are given, but for a block size of `all`. Throws std::invalid_argument.
void set_numbers(Query& query, const NumberTexts& texts);

struct CalcOptions {
  std::string device, format = "table", batch, file, kernel_name, parameters, page;
  NumberTexts texts;
  std::string hide, hide_instructions;  ///< cycles of a latency, and what a warp issues between two
  KernelClassText kernel;               ///< without a kind, nothing is predicted
  bool is_tour = false;
};

Answer answer(const CalcDevice& device, const Query& query);

/// The model's answer to a query.
struct ClassPrediction {
  ParameterFile parameters;
  theory::KernelClass kernel;
  theory::Peak peak;
  std::optional<CliffPredictions> cliffs;  ///< nullopt if the footprint cannot be launched
};

/// Throws UserError on a class or file that it cannot read.
ClassPrediction predict_class(const CalcDevice& device, const Query& query, const Answer& a,
                              const KernelClassText& text, const std::string& file);

}  // namespace occbench::commands
