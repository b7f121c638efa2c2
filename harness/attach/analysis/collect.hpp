// SPDX-License-Identifier: Apache-2.0
// Reads the files of a program's processes into kernels with their times.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/attach/protocol/protocol.hpp"
#include "harness/attach/protocol/quantities.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::attach {

struct AttachedDevice {
  std::string name, uuid;
  theory::SmLimits sm;
};

struct AttachedProcess {
  std::string id;  ///< "process-1234-0", the stem of its files
  std::string command;
  std::string timing = "events";  ///< or "activity": what timed its launches at the end
  std::string why_events;         ///< if --timing asked for records
};

/// An arm of one kernel: resident blocks and launch times.
struct Arm {
  int blocks_per_sm = 0;
  unsigned added_smem_bytes = 0;
  std::vector<double> times_us;  ///< of drawn launches that did not overlap
};

/// A kernel recompiled with a register cap.
struct CappedVersion {
  int cap = 0, registers = 0, local_bytes = 0, blocks_per_sm = 0;
  std::vector<double> times_us;  ///< of drawn launches that did not overlap
};

constexpr double min_us = 100;  // sampled time that a verdict by counters needs

/// PM samples of a kernel's untouched launches.
struct SampledCounters {
  std::uint64_t samples = 0;
  std::array<double, quantity_count> us{};        ///< sampled time per quantity
  std::array<double, quantity_count> share_us{};  ///< the same weighted by the share of the peak

  /// Share of the peak, 0 to 1; nullopt if not sampled.
  [[nodiscard]] std::optional<double> share(Quantity q) const {
    return us[q] > 0 ? std::optional(share_us[q] / us[q]) : std::nullopt;
  }
  void add(const SampledCounters& more) {
    samples += more.samples;
    for (std::size_t q = 0; q < quantity_count; ++q) {
      us[q] += more.us[q];
      share_us[q] += more.share_us[q];
    }
  }
};

/// Launches of one kernel with equal grid, block, shared memory and arguments, over all processes.
struct Kernel {
  std::string name;
  std::size_t device = 0;
  theory::Footprint footprint;
  int local_bytes = 0;
  unsigned grid[3] = {}, block[3] = {};
  std::string arguments;  ///< hash of the arguments that are not addresses
  std::string after;      ///< the previous kernel on the stream, if launches are split by it
  std::string range;      ///< NVTX range of the launching thread; empty: none, or not requested
  SkipReason skip_reason = SkipReason::none;
  int blocks_per_sm = 0;  ///< the driver's answer
  int sms = 0;            ///< that its launches may use: fewer than the device's in a green context
  /// Hash of the CUDA graph, for a graph or a kernel in one. A kernel in a graph has the launches and times
  /// of the graph.
  std::string graph;
  std::optional<std::size_t> whole;  ///< for a kernel in a graph: the graph's index
  std::uint64_t graph_kernels = 0;   ///< kernels per graph launch (all, or this one); 0: unknown
  std::uint64_t launches = 0, captured = 0, changed = 0, timed = 0, overlapping = 0;
  double untouched_us = 0;  ///< sum over `untouched_timed` launches
  std::uint64_t untouched_timed = 0;
  std::map<int, Arm> arms;       ///< empty if nothing was changed, or versions were tried
  std::map<int, Arm> fewer_sms;  ///< arms on some of the SMs, by SM count
  std::map<int, CappedVersion> versions;
  std::vector<double> uncapped_us;  ///< launches drawn in the same blocks as the versions
  std::uint64_t by_record = 0;      ///< launches in `timed` that a record timed
  SampledCounters seen;             ///< for runs next to other kernels, the middle only
  SampledCounters seen_whole;       ///< runs from start to end

  [[nodiscard]] bool is_graph() const { return block[0] == 0 && skip_reason != SkipReason::too_many; }
  [[nodiscard]] bool is_in_graph() const { return !graph.empty() && block[0] > 0; }
  /// The samples for the verdict: whole runs, if each quantity has enough samples of them.
  [[nodiscard]] const SampledCounters& counters() const {
    for (std::size_t q = 0; q < quantity_count; ++q)
      if (seen_whole.us[q] < min_us && seen.us[q] > 0) return seen;
    return seen_whole;
  }
  [[nodiscard]] double mean_us() const {
    return untouched_timed == 0 ? 0 : untouched_us / static_cast<double>(untouched_timed);
  }
  /// Estimated for all launches that were not captured, from the mean of the timed ones.
  [[nodiscard]] double total_us() const { return mean_us() * static_cast<double>(launches - captured); }
  [[nodiscard]] std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  /// Waves of the grid with this many blocks on each SM.
  [[nodiscard]] double waves(int blocks_on_sm) const {
    return sms < 1 ? 0 : static_cast<double>(blocks()) / (static_cast<double>(blocks_on_sm) * sms);
  }
};

struct TimedLaunch {
  std::uint32_t process = 0, kernel = 0;
  int fewer_sms = 0;  ///< SMs that it was confined to; 0: not confined
  Launch launch;
};

/// Times of the whole program; 0: unknown.
struct ProgramTime {
  double wall_s = 0;
  double launching_s = 0;  ///< sum over processes from first to last launch, times GPUs per process
  double busy_s = 0;       ///< kernel time, changed launches as they ran
};

/// A step of the program, with --apply.
struct Step {
  std::uint32_t process = 0;
  std::string range;  ///< the range that begins the step; empty: between profiler calls
  double begin_s = 0, duration_s = 0;
};

struct Collected {
  std::vector<AttachedProcess> processes;
  std::vector<AttachedDevice> devices;
  std::vector<Kernel> kernels;  ///< most GPU time first
  std::vector<TimedLaunch> launches;
  std::vector<std::string> warnings;  ///< one line each
  ProgramTime time;
  std::vector<Step> steps;  ///< in order within each process

  [[nodiscard]] double total_us() const;
  /// Whether any kernel was launched within an NVTX range (--by-range).
  [[nodiscard]] bool has_ranges() const;
};

/// Reads the files of all processes. Skips truncated or damaged data with a warning. Throws UserError if
/// the folder cannot be read.
[[nodiscard]] Collected collect(const std::filesystem::path& folder);

/// "2 processes were not attached to: /bin/su (setuid) x 2", the first programs by name, or "". Throws
/// UserError if the file cannot be read.
[[nodiscard]] std::string describe_not_attached(const std::filesystem::path& path);

}  // namespace occbench::attach
