// SPDX-License-Identifier: Apache-2.0
// What lies beyond an SM's load/store unit, in this SM's share: the way to the L2, the L2, and DRAM's channels.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "harness/theory/simulate.hpp"

namespace occbench::theory {

/// SplitMix64 (Steele et al. 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed = 1) : state_(seed) {}
  std::uint64_t operator()();
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Mean 0, standard deviation 1; four uniforms are near enough to a bell.
  double bell() { return (uniform() + uniform() + uniform() + uniform() - 2) * 1.7320508; }

 private:
  std::uint64_t state_;
};

/// All times in SM cycles. Of loads it says when they are there; stores go, and may have to wait before they do.
class Memory {
 public:
  /// Holds all four by reference; what it moves is added to `usage`.
  Memory(const Machine& machine, const Traffic& traffic, Random& random, Usage& usage);

  /// A warp's load at one place of the loop. `row`: the same for what the block's warps read side by side; `line`: where
  /// in it this load begins.
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
  /// When a bulk copy that is asked for at `t` is there. It is spread over all channels, and evenly: it waits for the
  /// bandwidth alone.
  double copy(double t);

  void store(double t, double bytes);
  void store_spilled(double t, double bytes);
  /// Before this no more stores leave the SM: so many are under way.
  [[nodiscard]] double takes_stores() const { return takes_stores_; }
  [[nodiscard]] double takes_spilled() const;

 private:
  [[nodiscard]] double busy_share(double t) const;
  double occupy(std::uint64_t channel, double t, double lines);
  void write(double t);
  void write_back(double t);
  void write_through(double t, double bytes, double bytes_per_cycle);

  const Machine& m_;
  const Traffic& t_;
  Random& random_;
  Usage& usage_;
  std::vector<double> channels_;  ///< when each is free
  double line_cycles_ = 0;        ///< of a channel, for a line
  std::vector<double> kept_;      ///< lines that each has to write
  std::priority_queue<double, std::vector<double>, std::greater<>> written_;  ///< lines, when they go to DRAM
  std::uint64_t next_written_ = 0;
  double port_ = 0, l2_ = 0, write_ = 0, dram_ = 0, bulk_ = 0;  ///< when each is free
  struct Store {
    double until = 0;
    double bytes = 0;
  };
  std::queue<Store> under_way_;
  double bytes_under_way_ = 0, takes_stores_ = 0;
};

}  // namespace occbench::theory
