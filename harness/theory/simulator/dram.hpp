// SPDX-License-Identifier: Apache-2.0
// DRAM, in one SM's share: what a mix of reads and writes gets of its bandwidth, and channels that have
// queues.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

/// What a loop asks of DRAM.
struct DramMix {
  double written = 0;  ///< share of the bytes
  double narrow = 0;   ///< share of these that go to more pages than stay open, a line to each
};

/// Bandwidth of all channels for this mix, byte/s.
double dram_bytes_per_s(const Parameters& p, const DramMix& mix);

/// Share of lines that go to pages which are not open: each of so many places a line.
double share_of_closed_pages(double places);

/// Sets what the machine has of DRAM; `bytes_per_cycle`: this SM's share of the bandwidth.
void set_dram(Machine& m, const Parameters& p, double clock_hz, double bytes_per_cycle);

/// All times in SM cycles.
class Dram {
 public:
  /// Holds both by reference. `in_order`: as Traffic has it.
  Dram(const Machine& machine, Random& random, bool in_order = false);

  /// Of the time up to `t`, that it was at work.
  [[nodiscard]] double busy_share(double t) const;
  /// The same of writes alone.
  [[nodiscard]] double write_share(double t) const;
  /// Reads so many lines' worth of a channel's time; returns when the channel begins.
  double read(std::uint64_t channel, double t, double lines);
  /// What a line that is read at `t` waits for writes besides, by chance.
  double wait_for_writes(double t);
  /// A bulk copy is spread over all channels, and evenly; returns when the bandwidth has brought it.
  double copy(double t, double bytes);
  /// When the bandwidth has taken bytes that are stored at `t`, after all that was asked for before.
  double take(double t, double bytes);
  /// A line to write, some time after it was stored at `t`.
  void write(double t);
  /// Keeps any one channel from reading for so many lines' time.
  void disturb(double t, double lines) { occupy(random_(), t, lines); }

  /// When the bandwidth has taken all of the lines.
  [[nodiscard]] double drained() const { return free_; }
  /// Cycles of its bandwidth that were asked for.
  [[nodiscard]] double asked() const { return asked_; }

 private:
  double occupy(std::uint64_t channel, double t, double lines);
  void write_back(double t);

  const Machine& m_;
  Random& random_;
  bool in_order_;                 ///< no warp has gone ahead in a loop
  std::vector<double> channels_;  ///< when each is free
  double line_cycles_ = 0;        ///< of a channel, for a line
  std::priority_queue<double, std::vector<double>, std::greater<>> written_;  ///< lines, when they go to DRAM
  std::uint64_t next_written_ = 0;
  double asked_ = 0, asked_to_write_ = 0;
  double free_ = 0, bulk_free_ = 0;  ///< when the bandwidth is, of lines and of bulk copies
};

}  // namespace occbench::theory
