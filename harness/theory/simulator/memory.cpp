// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/memory.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");
constexpr double own_share = fact("dram_own_share");

}  // namespace

/// Under load, an L2 hit waits in the queues of the SM's port and of the L2; a DRAM access also waits in its
/// channel's queue (dram.cpp).
///
/// The warps of a block read adjacent data: the same pages, so they share most of the random part of the
/// latency, and successive channels, so they do not queue behind each other.
///
/// If a warp touches more lines than its bytes need, each line is a request. One request fetches the whole
/// line for all warps that use it; on average half of those come later. While DRAM is idle, adjacent blocks
/// run together and their requests merge in the L2.
double Memory::load(const Load& load, double t) {
  const double l2_part = 1 + fact("l2_request_share") * (load.lines - 1);
  const double dram_part = 1 + (load.lines - 1) / 2 * dram_.busy_share(t);
  Random row(load.row);
  const double common = std::sqrt(1 - own_share * own_share) * row.normal();
  std::uint64_t channel = row() + static_cast<std::uint64_t>(load.line);
  double last = t;
  bool has_queued = false;  // the lines of a load share one queue and wait once
  for (double left = load.bytes; left > 0; left -= line_bytes, ++channel) {
    const double part = std::min(left, line_bytes);
    const double draw = random_.uniform();
    const bool is_pending = t_.l2_pending_hit > 0 && random_.uniform() * t_.load_l2 < t_.l2_pending_hit;
    if (draw >= load.dram_share + load.l2_share) continue;
    const double dram = m_.dram_latency + m_.dram_spread * (common + own_share * random_.normal());
    port_ = std::max(port_, t) + part / m_.port_bytes_per_cycle;
    port_busy_ += part / m_.port_bytes_per_cycle;
    l2_ = std::max(l2_, t) + l2_part * part / m_.l2_bytes_per_cycle;
    l2_busy_ += l2_part * part / m_.l2_bytes_per_cycle;
    const double at_l2 = std::max(port_, l2_);
    if (draw < load.dram_share) {
      const double start = dram_.read(channel, at_l2, dram_part);
      last =
          std::max(last, (has_queued ? at_l2 : start) + dram_.wait_for_writes(at_l2) + dram - m_.l1_latency);
      has_queued = true;
    } else
      last = std::max(last, at_l2 + (is_pending ? dram : m_.l2_latency) - m_.l1_latency);
  }
  return last + m_.l1_latency;
}

void Memory::write_through(double t, double bytes, double bytes_per_cycle) {
  write_ = std::max(write_, t) + bytes / bytes_per_cycle;
  write_busy_ += bytes / bytes_per_cycle;
}

void Memory::store(double t, double bytes, double dram_share) {
  write_through(t, bytes, m_.port_bytes_per_cycle);
  if (dram_share > 0) {
    stores_.push({dram_.use_bandwidth(t, bytes * dram_share) + m_.dram_latency, bytes});
    for (store_bytes_ += bytes; store_bytes_ > fact("stores_in_flight"); stores_.pop()) {
      stores_accepted_at_ = stores_.front().done_at;
      store_bytes_ -= stores_.front().bytes;
    }
  }
  for (double left = bytes; left > 0; left -= line_bytes)
    if (random_.uniform() < dram_share * std::min(1.0, left / line_bytes)) dram_.write(t);
}

void Memory::store_spilled(double t, double bytes) {
  write_through(t, bytes, m_.spill_store_bytes_per_cycle);
  for (double left = bytes; left > 0; left -= line_bytes)
    if (random_.uniform() < 1 - t_.local_l2)  // the L2 must evict something
      dram_.write(t);
    else if (t_.load_dram > 0)  // spills and fills from DRAM compete for the L2
      dram_.disturb(t, m_.dram_bytes_per_cycle / m_.spill_fill_bytes_per_cycle);
}

double Memory::spills_accepted_at() const {
  return write_ - fact("spills_in_flight") / m_.spill_store_bytes_per_cycle;
}

void Memory::count(Usage& usage) const {
  usage.port = port_busy_;
  usage.l2 = l2_busy_;
  usage.l2_write = write_busy_;
  usage.dram = dram_.requested_cycles();
}

}  // namespace occbench::theory
