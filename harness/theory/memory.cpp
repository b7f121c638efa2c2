// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/memory.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = 128;
// Bytes of stores that an SM has under way before the next must wait. On an H200 loads from shared memory, which pass the
// load/store unit in line with stores, begin to wait when copies have 32 to 47 KB under way, at all widths.
constexpr double most_under_way = 43008;
constexpr double spilled_under_way = 32768;  // the same, of spilled registers
// Of the spread of DRAM's latency over single lines, what lines side by side do not have in common: 75 of 170 cycles on
// an H200, within the 1 KiB that a block of 256 reads at once.
constexpr double own_share = 0.44;
// Of the time that a whole line takes the L2, what each request takes whatever it asks for: gathers of 32 bytes from each
// of four lines take 1.72 times as long on an H200 as of one line whole.
constexpr double request_share = 0.24;
// The L2 writes back when it needs the room: not when a line is stored, but up to so many cycles later.
constexpr double write_back_window = 4096;

}  // namespace

std::uint64_t Random::operator()() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

Memory::Memory(const Machine& machine, const Traffic& traffic, Random& random, Usage& usage)
    : m_(machine), t_(traffic), random_(random), usage_(usage) {
  const double dram_bytes = m_.dram_bytes > 0 ? m_.dram_bytes : 1;
  const double channels = std::max(1.0, m_.dram_service * dram_bytes / line_bytes);
  channels_.assign(static_cast<std::size_t>(std::lround(channels)), 0.0);
  for (std::size_t i = 0; i < channels_.size(); ++i)
    kept_.push_back(std::floor(m_.write_batch * random_.uniform()));
  line_cycles_ = line_bytes / dram_bytes * static_cast<double>(channels_.size());
}

/// Of the time up to `t`, that DRAM was at work.
double Memory::busy_share(double t) const { return t > 0 ? std::min(1.0, usage_.dram / t) : 0; }

/// Gives a channel so many lines at `t`; returns when it begins with them.
double Memory::occupy(std::uint64_t channel, double t, double lines) {
  double& busy = channels_[channel % channels_.size()];
  const double begun = std::max(busy, t);
  busy = begun + lines * line_cycles_;
  return begun;
}

/// A line for DRAM, some time after it was stored.
void Memory::write(double t) {
  usage_.dram += line_bytes / m_.dram_bytes;
  written_.push(t + write_back_window * random_.uniform());
}

/// The lines that are due by `t`. A channel keeps writes back and drains them in batches, for turning it around costs
/// time; the more, the less often it has nothing to read. `write_batch` is theirs at half load.
void Memory::write_back(double t) {
  for (; !written_.empty() && written_.top() <= t; written_.pop()) {
    const std::uint64_t channel = next_written_++ % channels_.size();
    double& kept = kept_[channel];
    if (++kept >= m_.write_batch * 2 * busy_share(written_.top()))
      occupy(channel, written_.top(), std::exchange(kept, 0));
  }
}

/// What the warps of a block read at one place of the loop lies side by side: on the same side of the chip and in the
/// same pages, so that most of what chance adds to the latency they have in common; and on one channel after the other,
/// so that they do not queue behind themselves.
///
/// Where a warp's bytes lie in more lines than they need, each of these is a request. Of those who ask for a line one
/// fetches all that the others want; half of the others, on average, came before. But while DRAM is not busy blocks side
/// by side run side by side, and their requests meet in the L2.
double Memory::load(const Load& load, double t) {
  const double l2_part = 1 + request_share * (load.lines - 1);
  const double dram_part = 1 + (load.lines - 1) / 2 * busy_share(t);
  Random row(load.row);
  const double common = std::sqrt(1 - own_share * own_share) * row.bell();
  std::uint64_t channel = row() + static_cast<std::uint64_t>(load.line);
  double last = t;
  bool queued = false;  // its lines go one way: they wait in one queue, once
  for (double left = load.bytes; left > 0; left -= line_bytes, ++channel) {
    const double part = std::min(left, line_bytes);
    const double draw = random_.uniform();
    const bool late = t_.late_l2 > 0 && random_.uniform() * t_.load_l2 < t_.late_l2;
    if (draw >= load.dram_share + load.l2_share) continue;
    const double dram = m_.dram_latency + m_.dram_spread * (common + own_share * random_.bell());
    port_ = std::max(port_, t) + part / m_.port_bytes;
    usage_.port += part / m_.port_bytes;
    l2_ = std::max(l2_, t) + l2_part * part / m_.l2_bytes;
    usage_.l2 += l2_part * part / m_.l2_bytes;
    const double at_l2 = std::max(port_, l2_);
    if (draw < load.dram_share) {
      write_back(at_l2);
      const double begun = occupy(channel, at_l2, dram_part);
      usage_.dram += dram_part * line_bytes / m_.dram_bytes;
      dram_ = std::max(dram_, at_l2) + dram_part * line_bytes / m_.dram_bytes;
      last = std::max(last, (queued ? at_l2 : begun) + dram - m_.l1_latency);
      queued = true;
    } else
      last = std::max(last, at_l2 + (late ? dram : m_.l2_latency) - m_.l1_latency);
  }
  return last + m_.l1_latency;
}

double Memory::copy(double t) {
  bulk_ = std::max(bulk_, t) + t_.bulk_bytes / m_.dram_bytes;
  usage_.dram += t_.bulk_bytes / m_.dram_bytes;
  return bulk_ + m_.dram_latency + m_.bulk_extra;
}

void Memory::write_through(double t, double bytes, double bytes_per_cycle) {
  write_ = std::max(write_, t) + bytes / bytes_per_cycle;
  usage_.l2_write += bytes / bytes_per_cycle;
}

void Memory::store(double t, double bytes) {
  write_through(t, bytes, m_.port_bytes);
  if (t_.store_dram > 0) {  // DRAM takes it after all that was asked for before
    dram_ = std::max(dram_, t) + bytes * t_.store_dram / m_.dram_bytes;
    under_way_.push({dram_ + m_.dram_latency, bytes});
    for (bytes_under_way_ += bytes; bytes_under_way_ > most_under_way; under_way_.pop()) {
      takes_stores_ = under_way_.front().until;
      bytes_under_way_ -= under_way_.front().bytes;
    }
  }
  for (double left = bytes; left > 0; left -= line_bytes)
    if (random_.uniform() < t_.store_dram * std::min(1.0, left / line_bytes)) write(t);
}

void Memory::store_spilled(double t, double bytes) {
  write_through(t, bytes, m_.spill_store_bytes);
  for (double left = bytes; left > 0; left -= line_bytes)
    if (random_.uniform() < 1 - t_.local_l2)  // the L2 must put something out of itself
      write(t);
    else if (t_.load_dram > 0)  // into the L2 what DRAM delivers and what spills store go by turns
      occupy(random_(), t, m_.dram_bytes / m_.spill_fill_bytes);
}

double Memory::takes_spilled() const { return write_ - spilled_under_way / m_.spill_store_bytes; }

}  // namespace occbench::theory
