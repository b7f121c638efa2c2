// SPDX-License-Identifier: Apache-2.0
// A warp on its way through the loop, and when it may go on.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

constexpr double never = std::numeric_limits<double>::infinity();

/// A cycle of the clock, as all issues are: how two warps stand to each other stays as it is. No time is
/// negative, and cutting the fraction off is a third of the instructions that std::floor takes.
inline double whole_cycle(double t) { return static_cast<double>(static_cast<std::int64_t>(t + 0.5)); }

struct Warp {
  double next = 0;    ///< when its next instruction may issue, as far as the warp itself goes
  double issued = 0;  ///< when its last one did
  int block = 0;
  Pipe pipe = Pipe::none;  ///< of its next instruction
  int place = 0;           ///< in the block
  std::size_t group = 0;   ///< of the block
  std::size_t start = 0;   ///< instruction at which its trips begin
  std::size_t at = 0;      ///< instruction
  std::int64_t trips = 0;
  std::size_t loads = 0;            ///< of the block's own set ...
  std::size_t set_line = 0;         ///< ... which begins here
  double ready = 0;                 ///< for its next instruction, as far as the last one's stall count goes
  double fetched = 0;               ///< when its next instruction is there
  std::array<double, 6> free{};     ///< when each scoreboard will be
  bool waits = false;               ///< at a barrier
  bool over = false;                ///< has made all of its trips
  std::vector<double> copies = {};  ///< ends of those under way, oldest first
  double group_end = 0;             ///< of the cp.async not yet in a group
  double group_of_mma_end = 0;      ///< of the wgmma since the last wait
  std::vector<double> groups = {};  ///< of wgmma under way

  void hold(std::int8_t scoreboard, double until) {
    if (scoreboard < 0) return;
    double& when = free[static_cast<std::size_t>(scoreboard)];
    when = std::max(when, until);
  }

  /// Asks anew when it is ready for its next instruction: whenever it has moved on.
  void update(const Program& program) {
    next = waits || over ? never : whole_cycle(ready_for(program.loop[at]));
  }

 private:
  [[nodiscard]] double ready_for(const Instruction& i) const {
    double t = std::max(ready, fetched);
    for (unsigned mask = i.wait; mask != 0; mask &= mask - 1)
      t = std::max(t, free[static_cast<std::size_t>(std::countr_zero(mask))]);
    switch (i.pipe) {
      case Pipe::wait_copies:
        return copies.size() > i.count ? std::max(t, copies[copies.size() - 1 - i.count]) : t;
      case Pipe::wait_stage:
        return copies.empty() ? t : std::max(t, copies.front());
      case Pipe::wait_warpgroup:  // the wgmma since the last wait are one group
        if (i.count == 0) return std::max(t, group_of_mma_end);
        return groups.size() >= i.count ? std::max(t, groups[groups.size() - i.count]) : t;
      default:
        return t;
    }
  }
};

}  // namespace occbench::theory
