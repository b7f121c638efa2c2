// SPDX-License-Identifier: Apache-2.0
// What lies beyond an SM's load/store unit, in this SM's share: the way to the L2, the L2, and DRAM behind
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>

#include "harness/theory/simulator/dram.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

/// All times in SM cycles. Of loads it says when they are there; stores go, and may have to wait before they
/// do.
class Memory {
 public:
  /// Holds all three by reference.
  Memory(const Machine& machine, const Traffic& traffic, Random& random)
      : m_(machine), t_(traffic), random_(random), dram_(machine, random, traffic.in_order) {}

  /// A warp's load at one place of the loop. `row`: the same for what the block's warps read side by side;
  /// `line`: where in it this load begins.
  struct Load {
    std::uint64_t row = 0;
    int line = 0;
    double bytes = 0;
    double dram_share = 0;  ///< of its bytes, by chance
    double l2_share = 0;
    double lines = 1;  ///< that they lie in, over the least
  };
  /// When all of it is there that left the load/store unit at `t`.
  double load(const Load& load, double t);
  /// When a bulk copy that is asked for at `t` is there. It is spread over all channels, and evenly: it waits
  /// for the bandwidth alone.
  double copy(double t) { return dram_.copy(t, t_.bulk_bytes) + m_.dram_latency + m_.bulk_extra; }

  void store(double t, double bytes, double dram_share);
  void store_spilled(double t, double bytes);
  /// Before this no more stores leave the SM: so many are under way.
  [[nodiscard]] double takes_stores() const { return takes_stores_; }
  [[nodiscard]] double takes_spilled() const;
  /// When all that was stored has left the SM and had its share of DRAM's bandwidth: no launch ends before.
  [[nodiscard]] double drained() const { return std::max(write_, dram_.drained()); }

  /// Adds what was used.
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
    double until = 0;
    double bytes = 0;
  };
  std::queue<Store> under_way_;
  double bytes_under_way_ = 0, takes_stores_ = 0;
};

}  // namespace occbench::theory
