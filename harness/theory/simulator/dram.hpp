// SPDX-License-Identifier: Apache-2.0
// One SM's share of DRAM: the bandwidth of a mix of reads and writes, and channels with queues.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

/// A loop's DRAM traffic.
struct DramMix {
  double written = 0;  ///< share of the bytes that are writes
  double narrow = 0;   ///< share of the writes that go to closed pages, one line each
};

/// Bandwidth of all channels for this mix, byte/s.
double dram_bandwidth(const Parameters& p, const DramMix& mix);

/// Share of lines that go to closed pages when stores alternate between `places` places.
double share_of_closed_pages(double places);

/// Sets the DRAM members of `m`; `bytes_per_cycle`: this SM's share of the bandwidth.
void set_dram(Machine& m, const Parameters& p, double clock_hz, double bytes_per_cycle);

/// All times in SM cycles.
class Dram {
 public:
  /// Holds both by reference. `in_order`: see Traffic.
  Dram(const Machine& machine, Random& random, bool in_order = false);

  /// Utilization up to `t`.
  [[nodiscard]] double busy_share(double t) const;
  /// Share of the time up to `t` spent on writes.
  [[nodiscard]] double write_share(double t) const;
  /// Occupies a channel for `lines` lines; returns when the channel begins.
  double read(std::uint64_t channel, double t, double lines);
  /// Random additional wait for writes of a read at `t`.
  double wait_for_writes(double t);
  /// A bulk copy, spread evenly over all channels; returns when it completes.
  double copy(double t, double bytes);
  /// Consumes bandwidth for bytes stored at `t`, after all earlier requests; returns when they are written.
  double use_bandwidth(double t, double bytes);
  /// Writes back a line some time after it was stored at `t`.
  void write(double t);
  /// Occupies a random channel for `lines` lines.
  void disturb(double t, double lines) { occupy(random_(), t, lines); }

  /// When all lines are read and written.
  [[nodiscard]] double drain_time() const { return free_at_; }
  /// Requested cycles of its bandwidth.
  [[nodiscard]] double requested_cycles() const { return requested_; }

 private:
  double occupy(std::uint64_t channel, double t, double lines);
  void write_back(double t);

  const Machine& m_;
  Random& random_;
  bool in_order_;
  std::vector<double> channels_;  ///< when each is free
  double line_cycles_ = 0;        ///< cycles for which one line occupies a channel
  std::priority_queue<double, std::vector<double>, std::greater<>> write_backs_;  ///< times, one per line
  std::uint64_t next_write_channel_ = 0;
  double requested_ = 0, requested_writes_ = 0;  ///< cycles
  double free_at_ = 0, bulk_free_at_ = 0;  ///< when the bandwidth is free, for lines and for bulk copies
};

}  // namespace occbench::theory
