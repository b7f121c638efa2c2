// SPDX-License-Identifier: Apache-2.0
// Instruction fetch of loops that exceed the SM's instruction cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <unordered_map>

#include "harness/theory/hardware.hpp"

namespace occbench::theory {

/// An SM's instruction cache with LRU replacement, as measured on an H200 with straight-line loops
/// (docs/history.md). A loop that fits never stalls. A larger loop makes each scheduler fetch one line at a
/// time for all of its warps, with the next line prefetched. Loops of 2,048 to 3,072 instructions were not
/// measured: under LRU, a loop that is one line too long misses as often as one of twice the length.
class InstructionCache {
 public:
  /// `lines`: distinct lines of the loop.
  explicit InstructionCache(std::size_t lines)
      : is_needed_(lines > capacity),
        interval_(lines > next_level_capacity ? fact("code_far_interval") : fact("code_near_interval")) {}

  InstructionCache(const InstructionCache& other)
      : is_needed_(other.is_needed_),
        interval_(other.interval_),
        free_at_(other.free_at_),
        order_(other.order_),
        lines_(other.lines_) {
    for (auto line = order_.begin(); line != order_.end(); ++line) lines_.at(*line).position = line;
  }
  InstructionCache& operator=(const InstructionCache&) = delete;

  /// Returns when a line requested at `t` is available to this scheduler.
  double fetch(std::size_t scheduler, std::int32_t line, double t) {
    if (!is_needed_) return t;
    if (const auto found = lines_.find(line); found != lines_.end()) {
      order_.splice(order_.end(), order_, found->second.position);
      return std::max(t, found->second.available_at);
    }
    double& free_at = free_at_[scheduler];
    free_at = std::max(free_at, t) + interval_;
    if (lines_.size() == capacity) {
      lines_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(line);
    lines_.emplace(line, Line{free_at, std::prev(order_.end())});
    return free_at;
  }

 private:
  static constexpr auto capacity = static_cast<std::size_t>(fact("code_near_lines"));
  static constexpr auto next_level_capacity = static_cast<std::size_t>(fact("code_far_lines"));

  struct Line {
    double available_at = 0;
    std::list<std::int32_t>::iterator position;
  };
  bool is_needed_;
  double interval_;
  std::array<double, static_cast<std::size_t>(fact("schedulers"))>
      free_at_{};                  ///< each scheduler's fetch port
  std::list<std::int32_t> order_;  ///< least recently used first
  std::unordered_map<std::int32_t, Line> lines_;
};

}  // namespace occbench::theory
