// SPDX-License-Identifier: Apache-2.0
// Where a loop's instructions come from once it is longer than the SM's instruction cache.
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

/// An SM's instruction cache, and for each scheduler the way to what lies behind it. As an H200 runs
/// straight-line loops of all lengths (a kernel beside the suite): as long as the cache holds them nobody
/// waits; beyond it each scheduler has a line at a time, one after the other for all of its warps. Warps that
/// come to a line together wait for it once. The next line is asked for as one begins. Nothing was measured
/// between 2,048 and 3,072 instructions: the least recently wanted line gives way, so that a loop a line too
/// long misses as one of twice its length.
class Code {
 public:
  /// `lines`: that the loop goes through.
  explicit Code(std::size_t lines)
      : long_(lines > held),
        interval_(lines > behind ? fact("code_far_interval") : fact("code_near_interval")) {}

  Code(const Code& other)
      : long_(other.long_),
        interval_(other.interval_),
        free_(other.free_),
        order_(other.order_),
        at_(other.at_) {
    for (auto line = order_.begin(); line != order_.end(); ++line) at_.at(*line).place = line;
  }
  Code& operator=(const Code&) = delete;

  /// When the line is there for this scheduler, which wants it at `t`.
  double fetch(std::size_t scheduler, std::int32_t line, double t) {
    if (!long_) return t;
    if (const auto known = at_.find(line); known != at_.end()) {
      order_.splice(order_.end(), order_, known->second.place);
      return std::max(t, known->second.there);
    }
    double& free = free_[scheduler];
    free = std::max(free, t) + interval_;
    if (at_.size() == held) {
      at_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(line);
    at_.emplace(line, Line{free, std::prev(order_.end())});
    return free;
  }

 private:
  static constexpr auto held = static_cast<std::size_t>(fact("code_near_lines"));
  static constexpr auto behind = static_cast<std::size_t>(fact("code_far_lines"));  // in the next cache

  struct Line {
    double there = 0;
    std::list<std::int32_t>::iterator place;
  };
  bool long_;
  double interval_;
  std::array<double, static_cast<std::size_t>(fact("schedulers"))> free_{};  ///< when each scheduler's way is
  std::list<std::int32_t> order_;                                            ///< least recently wanted first
  std::unordered_map<std::int32_t, Line> at_;
};

}  // namespace occbench::theory
