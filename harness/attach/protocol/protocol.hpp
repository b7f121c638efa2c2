// SPDX-License-Identifier: Apache-2.0
// Shared by the preloaded library and the command that reads its files.
//
// Each process has three files in the folder: NAME.txt with record lines (records.hpp), NAME.counts with
// Counts, and NAME.launches with a Launch per timed launch. The last two are mapped, so they are complete
// however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace occbench::attach {

constexpr int protocol_version = 11;

// Environment variables of the program.
constexpr const char* folder_variable = "OCCBENCH_ATTACH_FOLDER";
constexpr const char* options_variable = "OCCBENCH_ATTACH_OPTIONS";  // "key=value;key=value"; kernel= is last

/// In the folder: "0.ptx", "1.ptx", ...: modules in the program's file.
constexpr const char* ptx_ending = ".ptx";

/// In the folder: names a launch that does not end, written while the program waits for it.
constexpr const char* stuck_file = "stuck";

constexpr const char* nvtx_variable = "NVTX_INJECTION64_PATH";  // NVTX's own: path of its tool library

/// The arms that launches are drawn for: untouched; the carve-out pinned to all shared memory; then pinned at
/// a level (a number of resident blocks) or with a register cap; then on fewer SMs.
constexpr int untouched = 0, pinned = 1, first_level = 2;
constexpr std::size_t max_levels = 6, max_shares = 4;
constexpr int max_arms = first_level + static_cast<int>(max_levels + max_shares);

/// Scale of thresholds for a kernel in a CUDA graph, whose times are the graph's.
constexpr double in_graph_scale = 0.2;

constexpr std::size_t max_signatures = 65'536;

/// Why a process's files end before the process.
enum class Full : std::uint64_t { none, limit, disk, closed };

struct Count {
  std::uint64_t launches = 0;
  std::uint64_t captured = 0;  ///< of these, into a graph: not timed
  std::uint64_t changed = 0;   ///< of these, in another arm than untouched
};

struct Counts {
  Full full = Full::none;
  std::uint64_t launching_ns = 0;  ///< from first to last launch, or while the program is profiled
  Count of[max_signatures];
};

/// A timed launch. `signature` is written last; until then it is 0.
struct Launch {
  std::uint32_t signature = 0;  ///< number plus 1
  std::uint8_t arm = untouched;
  std::uint8_t flags = 0;
  std::uint16_t thread = 0;
  float time_us = 0;
  std::uint32_t sequence = 0;  ///< number of the launch in the process
};
static_assert(sizeof(Launch) == 16);

enum Flag : std::uint8_t {
  warm_up = 1,     ///< one of the first of its signature
  overlapped = 2,  ///< another stream may have had work; for records: another kernel ran
  drawn = 4,       ///< in a permuted block; only these count for medians of arms
  by_record = 8,   ///< timed by CUPTI's record of the kernel, not by events
};

/// Why the launches of a signature are never changed, as written in kernels.csv.
enum class SkipReason : int {
  none = 0,
  cooperative,
  cluster,
  one_residency,
  one_block,
  nccl,
  graph,
  dependent,
  own_carveout,
  attribute,
  not_asked,
  no_answer,
  too_many,
  no_level,
  no_version,
  graph_of_such,
  updated_graph,
  device_graph,
  smem_reader,
  small_grid,
  end,
};
constexpr const char* skip_reason_text[] = {
    "",
    "cooperative launch",
    "cluster launch",
    "grid within one residency",
    "one block per SM",
    "NCCL",
    "CUDA graph",
    "programmatic dependent launch",
    "sets its own carve-out",
    "launch attribute that is not known",
    "not asked for",
    "no answer from the driver",
    "too many signatures",
    "no level within the shared memory limit",
    "no PTX that a cap changes",
    "CUDA graph of skipped kernels",
    "CUDA graph that the program updates",
    "CUDA graph that the device launches or updates",
    "reads its shared memory's size",
    "no more blocks than SMs",
};
static_assert(sizeof skip_reason_text / sizeof *skip_reason_text == static_cast<int>(SkipReason::end));

}  // namespace occbench::attach
