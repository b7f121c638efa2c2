// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/lines.hpp"

#include <algorithm>
#include <utility>

namespace occbench::theory {

/// Lines may be on their way to the L1 until its data is full of them: reads of DRAM that keep more under way
/// wait, and all that comes after them. Where it holds lines that are used again there is less room.
Lines::Lines(const Machine& machine, const Traffic& traffic, const SmWorkload& workload, Random& random)
    : m_(machine),
      random_(random),
      l1_(traffic.l1_lines, Random(static_cast<std::uint64_t>(workload.sm))()),
      most_(traffic.same_parts > 0 ? static_cast<std::size_t>(fact("l1_room_beside_others") *
                                                              static_cast<double>(traffic.l1_lines))
                                   : traffic.l1_lines),
      l2_bytes_(traffic.l2_bytes) {}

double Lines::room(double t, std::size_t count) {
  arrived(t);
  while (most_ > 0 && in_flight_ + count > most_ && !coming_.empty()) {
    t = std::max(t, coming_.top().at);
    arrived(t);
  }
  return t;
}

void Lines::pass(std::size_t count, double there) {
  if (count == 0 || most_ == 0) return;
  in_flight_ += count;
  coming_.push({.at = there - m_.l1_latency, .count = count});
}

void Lines::pass_through_l1(std::size_t count, double there) {
  for (; count > 0; --count) ask(next_line_++, there);
}

double Lines::held(std::size_t first, std::size_t count, double t) {
  arrived(t);
  missed_.clear();
  double last = t + m_.l1_latency;
  for (std::size_t line = first; line < first + count; ++line) {
    if (l1_.hits(line)) continue;
    if (const auto coming = there_.find(line); coming != there_.end())
      last = std::max(last, coming->second);
    else
      missed_.push_back(line);
  }
  return last;
}

double Lines::ask(double mean) {
  double last = 0;
  for (const std::size_t line : missed_) {
    double there = mean + fact("l2_line_spread") * (2 * Random(line).uniform() - 1);
    // All SMs come to a line at about the same time: who is first waits for DRAM, and the others with it.
    const auto [before, first] = fetched_.try_emplace(line, streamed_);
    if (!first && l2_bytes_ > 0 && streamed_ - std::exchange(before->second, streamed_) > l2_bytes_)
      there += m_.dram_latency + m_.dram_spread * random_.bell() - m_.l2_latency;
    ask(line, there);
    last = std::max(last, there);
  }
  return last;
}

void Lines::ask(std::size_t line, double there) {
  l1_.ask(line);
  ++in_flight_;
  coming_.push({.at = there - m_.l1_latency, .count = 1, .line = line, .followed = true});
  there_.emplace(line, there);
}

void Lines::arrived(double t) {
  for (; !coming_.empty() && coming_.top().at <= t; coming_.pop()) {
    const Coming& coming = coming_.top();
    in_flight_ -= coming.count;
    if (!coming.followed) continue;
    l1_.fill(coming.line);
    there_.erase(coming.line);
  }
}

}  // namespace occbench::theory
