// SPDX-License-Identifier: Apache-2.0
// The lines that an SM has asked for. Its L1 limits how many may be on their way; and where loads come back
// to the same lines, the L1 and the L2 hold them or not line by line.
#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "harness/theory/simulator/l1.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

/// All times in SM cycles, and no earlier than those it was told of before: the load/store unit works in
/// order.
class Lines {
 public:
  /// Holds `machine` and `random` by reference.
  Lines(const Machine& machine, const Traffic& traffic, const SmWorkload& workload, Random& random);

  /// When there is room for so many more lines on their way: `t`, or later. Loads ask before anyone knows
  /// what they miss.
  double room(double t, std::size_t count);
  /// So many lines were asked for that no one will ask for again; they are there at `there`.
  void pass(std::size_t count, double there);
  /// The same, of lines that go through an L1 whose lines are followed.
  void pass_through_l1(std::size_t count, double there);
  /// So many bytes went to or came from beyond the L1, and push others out of the L2.
  void streamed(double bytes) { streamed_ += bytes; }

  /// When those of the lines from `first` on are there that the L1 has at `t` or that are on their way. The
  /// others are missed(), and must be asked for.
  double held(std::size_t first, std::size_t count, double t);
  [[nodiscard]] std::size_t missed() const { return missed_.size(); }
  /// Asks for them; when all of them are there that the L2 delivers at `mean` on average, DRAM what the L2
  /// has lost.
  double ask(double mean);

 private:
  void arrived(double t);
  void ask(std::size_t line, double there);

  struct Coming {
    double at = 0;  ///< in the L1
    std::size_t count = 0;
    std::size_t line = 0;  ///< if it is followed
    bool followed = false;
    bool operator>(const Coming& other) const { return at > other.at; }
  };

  const Machine& m_;
  Random& random_;
  L1 l1_;
  std::size_t most_ = 0;  ///< lines on their way; 0: no limit is known
  std::size_t in_flight_ = 0;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::unordered_map<std::size_t, double> there_;  ///< when followed lines will be that are on their way
  std::vector<std::size_t> missed_;
  std::size_t next_line_ = std::size_t{1} << 32;  ///< that has not been asked for
  double streamed_ = 0;                           ///< bytes
  double l2_bytes_ = 0;  ///< that this SM may stream before the L2 loses a line; 0: no limit
  std::unordered_map<std::size_t, double>
      fetched_;  ///< what had been streamed when the L2 was last asked for a line
};

}  // namespace occbench::theory
