// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/dram.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");

/// Factor on the mean wait for writes. Measured: if blocks run in grid order, the wait is proportional to the
/// utilization by writes, so the factor is 1. Warps that loop drift apart, and above half of the bandwidth
/// their wait grows like that of a queue.
double queue_factor(bool in_order, double busy_share) {
  if (in_order) return 1;
  const double queued = fact("queued_wait_share");
  return std::max(1.0, 1 - queued + queued / 2 / (1 - std::min(fact("queue_max_load"), busy_share)));
}

}  // namespace

/// Two costs in addition to the pure read and write times:
/// - Bus turnaround, per written byte: as much as in the 1:1 mix, for all mixes up to the slowest that was
///   measured (8 bytes written per byte read, H200). Pure writes have none.
/// - Page misses of single-line writes, and of the reads between them, which writes make miss their pages.
///   Reads are taken to be as narrow as the writes. On 48 launches with 1 to 16 arrays in and out the mean
///   error was 4.8 %.
double dram_bandwidth(const Parameters& p, const DramMix& mix) {
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
  m.dram_bytes_per_cycle = bytes_per_cycle;
  // In a queue with constant service time s, at half load, a request waits s / 2 (Pollaczek-Khinchine).
  m.dram_service = 2 * std::max(0.0, p.dram_loaded_latency_s - p.dram_latency_s) * clock_hz;
  // At half load with as many writes as reads, writes keep DRAM busy for a quarter of the time, and reads
  // wait for them in addition to the queue. Its service time scales inversely with the bandwidth.
  const double mixed_wait = std::max(0.0, p.dram_mixed_loaded_latency_s - p.dram_latency_s) * clock_hz;
  const double queued = m.dram_service / 2 * p.dram_read_bytes_per_s / p.dram_mixed_bytes_per_s;
  m.write_wait = std::max(0.0, mixed_wait - queued) / (0.5 * 0.5);
  m.bulk_extra = std::max(0.0, p.bulk_copy_latency_s - p.dram_latency_s) * clock_hz;
}

Dram::Dram(const Machine& machine, Random& random, bool in_order)
    : m_(machine), random_(random), in_order_(in_order) {
  const double bytes_per_cycle = m_.dram_bytes_per_cycle > 0 ? m_.dram_bytes_per_cycle : 1;
  const double channels = std::max(1.0, m_.dram_service * bytes_per_cycle / line_bytes);
  channels_.assign(static_cast<std::size_t>(std::lround(channels)), 0.0);
  line_cycles_ = line_bytes / bytes_per_cycle * static_cast<double>(channels_.size());
}

double Dram::busy_share(double t) const { return t > 0 ? std::min(1.0, requested_ / t) : 0; }
double Dram::write_share(double t) const {
  const double time = std::max(t, requested_);  // requests may be ahead of service
  return time > 0 ? requested_writes_ / time : 0;
}

double Dram::occupy(std::uint64_t channel, double t, double lines) {
  double& free_at = channels_[channel % channels_.size()];
  const double start = std::max(free_at, t);
  free_at = start + lines * line_cycles_;
  return start;
}

double Dram::read(std::uint64_t channel, double t, double lines) {
  write_back(t);
  const double start = occupy(channel, t, lines);
  requested_ += lines * line_bytes / m_.dram_bytes_per_cycle;
  use_bandwidth(t, lines * line_bytes);
  return start;
}

/// Exponentially distributed: next to copies the measured standard deviation is 0.85 to 0.93 of the mean.
double Dram::wait_for_writes(double t) {
  const double mean = m_.write_wait * write_share(t) * queue_factor(in_order_, busy_share(t));
  return -mean * std::log1p(-random_.uniform());
}

double Dram::copy(double t, double bytes) {
  bulk_free_at_ = std::max(bulk_free_at_, t) + bytes / m_.dram_bytes_per_cycle;
  requested_ += bytes / m_.dram_bytes_per_cycle;
  return bulk_free_at_;
}

double Dram::use_bandwidth(double t, double bytes) {
  free_at_ = std::max(free_at_, t) + bytes / m_.dram_bytes_per_cycle;
  return free_at_;
}

void Dram::write(double t) {
  requested_ += line_bytes / m_.dram_bytes_per_cycle;
  requested_writes_ += line_bytes / m_.dram_bytes_per_cycle;
  write_backs_.push(t + fact("write_back_window") * random_.uniform());
}

void Dram::write_back(double t) {
  for (; !write_backs_.empty() && write_backs_.top() <= t; write_backs_.pop())
    occupy(next_write_channel_++, write_backs_.top(), 1);
}

}  // namespace occbench::theory
