// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/memory.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");
constexpr double own_share = fact("dram_own_share");

}  // namespace

/// What the warps of a block read at one place of the loop lies side by side: on the same side of the chip
/// and in the same pages, so that most of what chance adds to the latency they have in common; and on one
/// channel after the other, so that they do not queue behind themselves.
///
/// Where a warp's bytes lie in more lines than they need, each of these is a request. Of those who ask for a
/// line one fetches all that the others want; half of the others, on average, came before. But while DRAM is
/// not busy blocks side by side run side by side, and their requests meet in the L2.
double Memory::load(const Load& load, double t) {
  const double l2_part = 1 + fact("l2_request_share") * (load.lines - 1);
  const double dram_part = 1 + (load.lines - 1) / 2 * dram_.busy_share(t);
  Random row(load.row);
  const double common = std::sqrt(1 - own_share * own_share) * row.bell();
  std::uint64_t channel = row() + static_cast<std::uint64_t>(load.line);
  double last = t;
  bool queued = false;  // its lines go one way: they wait in one queue, once
  for (double left = load.bytes; left > 0; left -= line_bytes, ++channel) {
    const double part = std::min(left, line_bytes);
    const double draw = random_.uniform();
    const bool late = t_.l2_pending_hit > 0 && random_.uniform() * t_.load_l2 < t_.l2_pending_hit;
    if (draw >= load.dram_share + load.l2_share) continue;
    const double dram = m_.dram_latency + m_.dram_spread * (common + own_share * random_.bell());
    port_ = std::max(port_, t) + part / m_.port_bytes;
    port_busy_ += part / m_.port_bytes;
    l2_ = std::max(l2_, t) + l2_part * part / m_.l2_bytes;
    l2_busy_ += l2_part * part / m_.l2_bytes;
    const double at_l2 = std::max(port_, l2_);
    if (draw < load.dram_share) {
      const double begun = dram_.read(channel, at_l2, dram_part);
      last = std::max(last, (queued ? at_l2 : begun) + dram_.wait_for_writes(at_l2) + dram - m_.l1_latency);
      queued = true;
    } else
      last = std::max(last, at_l2 + (late ? dram : m_.l2_latency) - m_.l1_latency);
  }
  return last + m_.l1_latency;
}

void Memory::write_through(double t, double bytes, double bytes_per_cycle) {
  write_ = std::max(write_, t) + bytes / bytes_per_cycle;
  write_busy_ += bytes / bytes_per_cycle;
}

void Memory::store(double t, double bytes, double dram_share) {
  write_through(t, bytes, m_.port_bytes);
  if (dram_share > 0) {
    under_way_.push({dram_.take(t, bytes * dram_share) + m_.dram_latency, bytes});
    for (bytes_under_way_ += bytes; bytes_under_way_ > fact("stores_under_way"); under_way_.pop()) {
      takes_stores_ = under_way_.front().until;
      bytes_under_way_ -= under_way_.front().bytes;
    }
  }
  for (double left = bytes; left > 0; left -= line_bytes)
    if (random_.uniform() < dram_share * std::min(1.0, left / line_bytes)) dram_.write(t);
}

void Memory::store_spilled(double t, double bytes) {
  write_through(t, bytes, m_.spill_store_bytes);
  for (double left = bytes; left > 0; left -= line_bytes)
    if (random_.uniform() < 1 - t_.local_l2)  // the L2 must evict something
      dram_.write(t);
    else if (t_.load_dram > 0)  // into the L2 what DRAM delivers and what spills store go by turns
      dram_.disturb(t, m_.dram_bytes / m_.spill_fill_bytes);
}

double Memory::takes_spilled() const { return write_ - fact("spills_under_way") / m_.spill_store_bytes; }

void Memory::count(Usage& usage) const {
  usage.port = port_busy_;
  usage.l2 = l2_busy_;
  usage.l2_write = write_busy_;
  usage.dram = dram_.asked();
}

}  // namespace occbench::theory
