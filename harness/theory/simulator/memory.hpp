// SPDX-License-Identifier: Apache-2.0
// One SM's share of the memory system behind its load/store unit: the port to the L2, the L2, and DRAM.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>

#include "harness/theory/simulator/dram.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

/// Times in SM cycles.
class Memory {
 public:
  /// Holds all three by reference.
  Memory(const Machine& machine, const Traffic& traffic, Random& random)
      : m_(machine), t_(traffic), random_(random), dram_(machine, random, traffic.in_order) {}

  /// A load instruction of one warp.
  struct Load {
    std::uint64_t row = 0;  ///< identifies the adjacent data that the warps of a block read together
    int line = 0;           ///< of the row, at which this load begins
    double bytes = 0;
    double dram_share = 0;  ///< probability that a line comes from DRAM ...
    double l2_share = 0;    ///< ... or from the L2
    double lines = 1;       ///< lines touched, over the minimum for the bytes
  };
  /// Returns when all data of a load that leaves the load/store unit at `t` has arrived.
  double load(const Load& load, double t);
  /// Returns when a bulk copy issued at `t` completes. All channels serve it evenly, so it waits for
  /// bandwidth only.
  double copy(double t) { return dram_.copy(t, t_.bulk_bytes) + m_.dram_latency + m_.bulk_extra; }

  void store(double t, double bytes, double dram_share);
  void store_spilled(double t, double bytes);
  /// When the next store may leave the SM, limited by the bytes in flight.
  [[nodiscard]] double stores_accepted_at() const { return stores_accepted_at_; }
  [[nodiscard]] double spills_accepted_at() const;
  /// When all stores have left the SM and reached DRAM; the launch does not end earlier.
  [[nodiscard]] double drain_time() const { return std::max(write_, dram_.drain_time()); }

  /// Writes the busy cycles of L2 and DRAM to `usage`.
  void count(Usage& usage) const;

 private:
  void write_through(double t, double bytes, double bytes_per_cycle);

  const Machine& m_;
  const Traffic& t_;
  Random& random_;
  Dram dram_;
  double port_ = 0, l2_ = 0, write_ = 0;                 ///< when each is free
  double port_busy_ = 0, l2_busy_ = 0, write_busy_ = 0;  ///< cycles
  struct Store {
    double done_at = 0;
    double bytes = 0;
  };
  std::queue<Store> stores_;  ///< in flight
  double store_bytes_ = 0, stores_accepted_at_ = 0;
};

}  // namespace occbench::theory
