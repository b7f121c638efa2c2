// SPDX-License-Identifier: Apache-2.0
// The state of a warp in the loop, and when it may issue next.
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

/// Rounds to a whole cycle, as for all issues. Times are never negative, so truncation suffices; it takes a
/// third of the instructions of std::floor.
inline double whole_cycle(double t) { return static_cast<double>(static_cast<std::int64_t>(t + 0.5)); }

struct Warp {
  double next = 0;    ///< earliest issue of the next instruction, apart from the scheduler and its pipes
  double issued = 0;  ///< issue of the last instruction
  int block = 0;
  Pipe pipe = Pipe::none;               ///< of the next instruction
  int index = 0;                        ///< in the block
  std::size_t group = 0;                ///< barrier group of the block
  std::size_t start = 0;                ///< instruction at which its trips begin
  std::size_t pc = 0;                   ///< index of the next instruction in the loop
  std::int64_t trips = 0;               ///< completed
  std::size_t set_loads = 0;            ///< of the block's own set, so far
  std::size_t set_line = 0;             ///< first line of that set
  double ready = 0;                     ///< when the last instruction's stall count has elapsed
  double fetched = 0;                   ///< when the next instruction has been fetched
  std::array<double, 6> scoreboards{};  ///< when each is released
  bool at_barrier = false;
  bool is_done = false;                   ///< has completed all trips
  std::vector<double> copies = {};        ///< completion of asynchronous copies in flight, oldest first
  double copy_group_end = 0;              ///< completion of the cp.async not yet committed to a group
  double wgmma_end = 0;                   ///< completion of the wgmma since the last wait
  std::vector<double> wgmma_groups = {};  ///< completion of the groups in flight

  void hold(std::int8_t scoreboard, double until) {
    if (scoreboard < 0) return;
    double& released_at = scoreboards[static_cast<std::size_t>(scoreboard)];
    released_at = std::max(released_at, until);
  }

  /// Recomputes `next`; call it after every change of state.
  void update(const Program& program) {
    next = at_barrier || is_done ? never : whole_cycle(ready_for(program.loop[pc]));
  }

 private:
  [[nodiscard]] double ready_for(const Instruction& i) const {
    double t = std::max(ready, fetched);
    for (unsigned mask = i.wait; mask != 0; mask &= mask - 1)
      t = std::max(t, scoreboards[static_cast<std::size_t>(std::countr_zero(mask))]);
    switch (i.pipe) {
      case Pipe::wait_copies:
        return copies.size() > i.count ? std::max(t, copies[copies.size() - 1 - i.count]) : t;
      case Pipe::wait_stage:
        return copies.empty() ? t : std::max(t, copies.front());
      case Pipe::wait_warpgroup:  // the wgmma since the last wait are one group
        if (i.count == 0) return std::max(t, wgmma_end);
        return wgmma_groups.size() >= i.count ? std::max(t, wgmma_groups[wgmma_groups.size() - i.count]) : t;
      default:
        return t;
    }
  }
};

}  // namespace occbench::theory
