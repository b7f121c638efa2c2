// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/lines.hpp"

#include <algorithm>
#include <utility>

namespace occbench::theory {

/// Lines in flight may fill the L1's data array, or only a share of it if the L1 holds reused lines.
Lines::Lines(const Machine& machine, const Traffic& traffic, const SmWorkload& workload, Random& random)
    : m_(machine),
      random_(random),
      l1_(traffic.l1_lines, Random(static_cast<std::uint64_t>(workload.sm))()),
      max_in_flight_(traffic.reuse_parts > 0 ? static_cast<std::size_t>(fact("l1_in_flight_share") *
                                                                        static_cast<double>(traffic.l1_lines))
                                             : traffic.l1_lines),
      l2_stream_bytes_(traffic.l2_stream_bytes) {}

double Lines::wait_for_space(double t, std::size_t count) {
  fill_arrived(t);
  while (max_in_flight_ > 0 && in_flight_ + count > max_in_flight_ && !queue_.empty()) {
    t = std::max(t, queue_.top().arrival);
    fill_arrived(t);
  }
  return t;
}

void Lines::stream(std::size_t count, double arrival) {
  if (count == 0 || max_in_flight_ == 0) return;
  in_flight_ += count;
  queue_.push({.arrival = arrival - m_.l1_latency, .count = count});
}

void Lines::stream_through_l1(std::size_t count, double arrival) {
  for (; count > 0; --count) request(next_streamed_line_++, arrival);
}

double Lines::look_up(std::size_t first, std::size_t count, double t) {
  fill_arrived(t);
  missed_.clear();
  double last = t + m_.l1_latency;
  for (std::size_t line = first; line < first + count; ++line) {
    if (l1_.look_up(line)) continue;
    if (const auto in_flight = arrivals_.find(line); in_flight != arrivals_.end())
      last = std::max(last, in_flight->second);
    else
      missed_.push_back(line);
  }
  return last;
}

double Lines::request_missed(double mean_arrival) {
  double last = 0;
  for (const std::size_t line : missed_) {
    double arrival = mean_arrival + fact("l2_line_spread") * (2 * Random(line).uniform() - 1);
    // All SMs request a line at about the same time: if the L2 has evicted it, all wait for DRAM.
    const auto [request_before, is_first] = l2_requests_.try_emplace(line, streamed_);
    if (!is_first && l2_stream_bytes_ > 0 &&
        streamed_ - std::exchange(request_before->second, streamed_) > l2_stream_bytes_)
      arrival += m_.dram_latency + m_.dram_spread * random_.normal() - m_.l2_latency;
    request(line, arrival);
    last = std::max(last, arrival);
  }
  return last;
}

void Lines::request(std::size_t line, double arrival) {
  l1_.request(line);
  ++in_flight_;
  queue_.push({.arrival = arrival - m_.l1_latency, .count = 1, .line = line, .is_tracked = true});
  arrivals_.emplace(line, arrival);
}

void Lines::fill_arrived(double t) {
  for (; !queue_.empty() && queue_.top().arrival <= t; queue_.pop()) {
    const InFlight& arrived = queue_.top();
    in_flight_ -= arrived.count;
    if (!arrived.is_tracked) continue;
    l1_.fill(arrived.line);
    arrivals_.erase(arrived.line);
  }
}

}  // namespace occbench::theory
