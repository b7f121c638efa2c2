// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/dram.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");

/// Factor on the mean wait for writes. It is 1 where blocks come and go in the order of the grid: lone warps,
/// beside copies of a quarter to three quarters of the bandwidth, waited in proportion to what writes keep
/// busy. Warps that go round a loop drift apart: from half of the bandwidth on their wait grows as a queue's.
double crowding(bool in_order, double busy_share) {
  if (in_order) return 1;
  const double queued = fact("queued_wait_share");
  return std::max(1.0, 1 - queued + queued / 2 / (1 - std::min(fact("most_crowded"), busy_share)));
}

}  // namespace

/// Turning the bus around costs, and so does a page that is opened for one line. Each written byte costs as
/// much as at half and half, whatever is read beside it: on an H200 one byte read for each eight written is
/// as slow as that says, and slower than any other mix. Nothing was measured between there and writes alone,
/// whose bus does not turn. Writes close the pages that single lines are read from, too: as far as both come
/// by turns, reads of single lines pay for pages. They come in order, and share one longer than writes do:
/// the square of the writes' share says what a kernel beside the suite took for one to sixteen arrays in and
/// as many out (4.8 % off in the mean of 48 launches; the share itself 5.2). Reads are taken to be as narrow
/// as the writes beside them.
double dram_bytes_per_s(const Parameters& p, const DramMix& mix) {
  const double written = mix.written, narrow = mix.narrow;
  const double read = 1 / p.dram_read_bytes_per_s;
  const double wide = 1 / p.dram_write_bytes_per_s;
  const double turning = std::max(0.0, 2 / p.dram_mixed_bytes_per_s - read - wide);
  const double write = p.dram_narrow_write_bytes_per_s > 0
                           ? wide + narrow * (1 / p.dram_narrow_write_bytes_per_s - wide)
                           : wide;
  return 1 /
         ((1 - written) * read + written * write + std::min(written, 1 - written) * narrow * (write - wide) +
          std::min(written, fact("most_written_per_read") * (1 - written)) * turning);
}

double share_of_closed_pages(double places) { return std::max(0.0, 1 - fact("dram_open_pages") / places); }

void set_dram(Machine& m, const Parameters& p, double clock_hz, double bytes_per_cycle) {
  m.dram_latency = p.dram_latency_s * clock_hz;
  m.dram_spread = p.dram_spread_s * clock_hz;
  m.dram_bytes = bytes_per_cycle;
  // A queue of constant service time s at half load makes a request wait s / 2 (Pollaczek and Khinchine).
  m.dram_service = 2 * std::max(0.0, p.dram_loaded_latency_s - p.dram_latency_s) * clock_hz;
  // What a read waits beyond that queue at half load, half of which are writes, it waits for these: they keep
  // DRAM busy for a quarter of the time. The queue's service grows as the bandwidth falls.
  const double mixed_wait = std::max(0.0, p.dram_mixed_loaded_latency_s - p.dram_latency_s) * clock_hz;
  const double queued = m.dram_service / 2 * p.dram_read_bytes_per_s / p.dram_mixed_bytes_per_s;
  m.write_wait = std::max(0.0, mixed_wait - queued) / (0.5 * 0.5);
  m.bulk_extra = std::max(0.0, p.bulk_copy_latency_s - p.dram_latency_s) * clock_hz;
}

Dram::Dram(const Machine& machine, Random& random, bool in_order)
    : m_(machine), random_(random), in_order_(in_order) {
  const double dram_bytes = m_.dram_bytes > 0 ? m_.dram_bytes : 1;
  const double channels = std::max(1.0, m_.dram_service * dram_bytes / line_bytes);
  channels_.assign(static_cast<std::size_t>(std::lround(channels)), 0.0);
  line_cycles_ = line_bytes / dram_bytes * static_cast<double>(channels_.size());
}

double Dram::busy_share(double t) const { return t > 0 ? std::min(1.0, asked_ / t) : 0; }
double Dram::write_share(double t) const {
  const double time = std::max(t, asked_);  // they may have been asked for faster than they are served
  return time > 0 ? asked_to_write_ / time : 0;
}

/// Gives a channel so many lines at `t`; returns when it begins with them.
double Dram::occupy(std::uint64_t channel, double t, double lines) {
  double& busy = channels_[channel % channels_.size()];
  const double begun = std::max(busy, t);
  busy = begun + lines * line_cycles_;
  return begun;
}

double Dram::read(std::uint64_t channel, double t, double lines) {
  write_back(t);
  const double begun = occupy(channel, t, lines);
  asked_ += lines * line_bytes / m_.dram_bytes;
  take(t, lines * line_bytes);
  return begun;
}

/// By exponential law: beside copies the wait's standard deviation is 0.85 to 0.93 of its mean.
double Dram::wait_for_writes(double t) {
  const double mean = m_.write_wait * write_share(t) * crowding(in_order_, busy_share(t));
  return -mean * std::log1p(-random_.uniform());
}

double Dram::copy(double t, double bytes) {
  bulk_free_ = std::max(bulk_free_, t) + bytes / m_.dram_bytes;
  asked_ += bytes / m_.dram_bytes;
  return bulk_free_;
}

double Dram::take(double t, double bytes) {
  free_ = std::max(free_, t) + bytes / m_.dram_bytes;
  return free_;
}

void Dram::write(double t) {
  asked_ += line_bytes / m_.dram_bytes;
  asked_to_write_ += line_bytes / m_.dram_bytes;
  written_.push(t + fact("write_back_window") * random_.uniform());
}

/// The lines that are due by `t`.
void Dram::write_back(double t) {
  for (; !written_.empty() && written_.top() <= t; written_.pop()) occupy(next_written_++, written_.top(), 1);
}

}  // namespace occbench::theory
