// SPDX-License-Identifier: Apache-2.0
// The cache lines of an SM's loads: the limit of lines in flight to the L1 and, for loads that reuse lines,
// which lines the L1 and L2 hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "harness/theory/simulator/l1.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

/// Times in SM cycles, non-decreasing from call to call: the load/store unit works in order.
class Lines {
 public:
  /// Holds `machine` and `random` by reference.
  Lines(const Machine& machine, const Traffic& traffic, const SmWorkload& workload, Random& random);

  /// The time from `t` on when `count` more lines may be in flight. Called before misses are known.
  double wait_for_space(double t, std::size_t count);
  /// Streams `count` lines that are loaded once and arrive at `arrival`.
  void stream(std::size_t count, double arrival);
  /// The same, through the L1 simulated line by line.
  void stream_through_l1(std::size_t count, double arrival);
  /// Counts bytes to or from the L2, which evict other lines in it.
  void count_streamed(double bytes) { streamed_ += bytes; }

  /// Looks up `count` lines at `t`; returns when hits and lines in flight are available. The misses are left
  /// for request_missed().
  double look_up(std::size_t first, std::size_t count, double t);
  [[nodiscard]] std::size_t missed_count() const { return missed_.size(); }
  /// Requests the missed lines, which the L2 delivers at `mean_arrival` on average and DRAM later; returns
  /// when all have arrived.
  double request_missed(double mean_arrival);

 private:
  void fill_arrived(double t);
  void request(std::size_t line, double arrival);

  struct InFlight {
    double arrival = 0;  ///< in the L1
    std::size_t count = 0;
    std::size_t line = 0;     ///< if is_tracked
    bool is_tracked = false;  ///< simulated line by line
    bool operator>(const InFlight& other) const { return arrival > other.arrival; }
  };

  const Machine& m_;
  Random& random_;
  L1 l1_;
  std::size_t max_in_flight_ = 0;  ///< lines; 0: unlimited
  std::size_t in_flight_ = 0;
  std::priority_queue<InFlight, std::vector<InFlight>, std::greater<>> queue_;
  std::unordered_map<std::size_t, double> arrivals_;  ///< of tracked lines in flight
  std::vector<std::size_t> missed_;
  /// Distinct from all reused lines, also where std::size_t has 32 bits.
  std::size_t next_streamed_line_ =
      static_cast<std::size_t>(std::min<std::uint64_t>(std::uint64_t{1} << 32, ~std::size_t{0} / 2 + 1));
  double streamed_ = 0;                                  ///< bytes
  double l2_stream_bytes_ = 0;                           ///< see Traffic
  std::unordered_map<std::size_t, double> l2_requests_;  ///< streamed_ at a line's last request to the L2
};

}  // namespace occbench::theory
