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
  std::string id;  ///< "process-1234-0", as its files are called
  std::string command;
  std::string timing = "events";  ///< or "activity": what timed its launches at the end
  std::string why_events;         ///< where --timing asked for records
};

/// An arm of one kernel: its resident blocks, and the times of its launches.
struct Arm {
  int blocks_per_sm = 0;
  unsigned added_smem_bytes = 0;
  std::vector<double> times_us;  ///< of drawn launches that nothing overlapped
};

/// A kernel compiled again with a cap on its registers.
struct CappedVersion {
  int cap = 0, registers = 0, local_bytes = 0, blocks_per_sm = 0;
  std::vector<double> times_us;  ///< of drawn launches that nothing overlapped
};

constexpr double least_us = 100;  // of samples, for a verdict by counters

/// What PM sampling says of a kernel's untouched launches.
struct Counted {
  std::uint64_t samples = 0;
  std::array<double, quantity_count> us{};        ///< sampled, per quantity
  std::array<double, quantity_count> share_us{};  ///< weighted by the share of the peak

  /// Of the peak, 0 to 1; nullopt where it was not sampled.
  [[nodiscard]] std::optional<double> share(Quantity q) const {
    return us[q] > 0 ? std::optional(share_us[q] / us[q]) : std::nullopt;
  }
  void add(const Counted& more) {
    samples += more.samples;
    for (std::size_t q = 0; q < quantity_count; ++q) {
      us[q] += more.us[q];
      share_us[q] += more.share_us[q];
    }
  }
};

/// Launches of one kernel with the same grid, block, shared memory and arguments, of all processes.
struct Kernel {
  std::string name;
  std::size_t device = 0;
  theory::Footprint footprint;
  int local_bytes = 0;
  unsigned grid[3] = {}, block[3] = {};
  std::string arguments;  ///< hash of those that are no addresses
  std::string after;      ///< the kernel that ran before on the stream, where launches are split by it
  std::string range;      ///< NVTX's, of the launching thread; empty: none, or not asked for
  SkipReason skip_reason = SkipReason::no;
  int blocks_per_sm = 0;  ///< the driver's answer
  int sms = 0;            ///< that its launches may run on: in a green context not all of the device's
  /// Of a CUDA graph, or of a kernel in one: the graph's hash. A kernel in one has the graph's launches, and
  /// its times are the graph's.
  std::string graph;
  std::optional<std::size_t> whole;  ///< of a kernel in a graph: that one's place
  std::uint64_t graph_kernels = 0;   ///< that a launch of the graph runs, all or of this one; 0: not known
  std::uint64_t launches = 0, captured = 0, changed = 0, timed = 0, overlapping = 0;
  double untouched_us = 0;  ///< sum over `untouched_timed` launches
  std::uint64_t untouched_timed = 0;
  std::map<int, Arm> arms;       ///< none where nothing was changed, or versions were tried
  std::map<int, Arm> fewer_sms;  ///< arms on a part of the SMs, by their number
  std::map<int, CappedVersion> versions;
  std::vector<double> as_it_is_us;  ///< drawn in the same blocks as the versions
  std::uint64_t by_record = 0;      ///< of `timed`
  Counted seen;                     ///< of a kernel between others only the middle
  Counted seen_whole;               ///< from start to end

  [[nodiscard]] bool is_graph() const { return block[0] == 0 && skip_reason != SkipReason::too_many; }
  [[nodiscard]] bool is_in_graph() const { return !graph.empty() && block[0] > 0; }
  /// What its verdict goes by: whole runs, where enough of them were sampled for each quantity.
  [[nodiscard]] const Counted& counted() const {
    for (std::size_t q = 0; q < quantity_count; ++q)
      if (seen_whole.us[q] < least_us && seen.us[q] > 0) return seen;
    return seen_whole;
  }
  [[nodiscard]] double mean_us() const {
    return untouched_timed == 0 ? 0 : untouched_us / static_cast<double>(untouched_timed);
  }
  /// Of all launches that were not captured, by the mean of those that were timed.
  [[nodiscard]] double total_us() const { return mean_us() * static_cast<double>(launches - captured); }
  [[nodiscard]] std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  /// Of the grid, with so many blocks on an SM.
  [[nodiscard]] double waves(int blocks_on_sm) const {
    return sms < 1 ? 0 : static_cast<double>(blocks()) / (static_cast<double>(blocks_on_sm) * sms);
  }
};

struct TimedLaunch {
  std::uint32_t process = 0, kernel = 0;
  int fewer_sms = 0;  ///< that it was confined to; 0: it was not
  Launch launch;
};

/// Of the program as a whole; 0: not known.
struct ProgramTime {
  double wall_s = 0;
  double launching_s = 0;  ///< of each process from its first launch to its last, times the GPUs per process
  double busy_s = 0;       ///< of kernels, changed launches as they ran
};

/// Of --apply.
struct Step {
  std::uint32_t process = 0;
  std::string range;  ///< that begins with the step; empty: it lies between the profiler's calls
  double begin_s = 0, duration_s = 0;
};

struct Collected {
  std::vector<AttachedProcess> processes;
  std::vector<AttachedDevice> devices;
  std::vector<Kernel> kernels;  ///< most GPU time first
  std::vector<TimedLaunch> launches;
  std::vector<std::string> complaints;  ///< each of one line
  ProgramTime time;
  std::vector<Step> steps;  ///< in their order in each process

  [[nodiscard]] double total_us() const;
  /// Whether any kernel was launched within an NVTX range, under --by-range.
  [[nodiscard]] bool has_ranges() const;
};

/// Reads all processes' files. What is cut off or damaged is left out, with a complaint. Throws UserError
/// where the folder cannot be read.
[[nodiscard]] Collected collect(const std::filesystem::path& folder);

/// "2 processes were not attached to: /bin/su (setuid) x 2", the first programs by name; empty: none.
/// Throws UserError where the file cannot be read.
[[nodiscard]] std::string not_attached(const std::filesystem::path& path);

}  // namespace occbench::attach
