// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/dram.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");

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
  // Half of the requests being writes that a channel drains in batches of n at regular times, a read waits s
  // (1 + n) / 6: those that come during a batch, n s, find it gone after n s / 3 more. s grows as the
  // bandwidth falls.
  const double mixed_service = m.dram_service * p.dram_read_bytes_per_s / p.dram_mixed_bytes_per_s;
  const double mixed_wait = std::max(0.0, p.dram_mixed_loaded_latency_s - p.dram_latency_s) * clock_hz;
  m.write_batch = mixed_service > 0 ? std::max(1.0, 6 * mixed_wait / mixed_service - 1) : 1;
  m.bulk_extra = std::max(0.0, p.bulk_copy_latency_s - p.dram_latency_s) * clock_hz;
}

Dram::Dram(const Machine& machine, Random& random) : m_(machine), random_(random) {
  const double dram_bytes = m_.dram_bytes > 0 ? m_.dram_bytes : 1;
  const double channels = std::max(1.0, m_.dram_service * dram_bytes / line_bytes);
  channels_.assign(static_cast<std::size_t>(std::lround(channels)), 0.0);
  for (std::size_t i = 0; i < channels_.size(); ++i)
    kept_.push_back(std::floor(m_.write_batch * random_.uniform()));
  line_cycles_ = line_bytes / dram_bytes * static_cast<double>(channels_.size());
}

double Dram::busy_share(double t) const { return t > 0 ? std::min(1.0, asked_ / t) : 0; }

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
  written_.push(t + fact("write_back_window") * random_.uniform());
}

/// The lines that are due by `t`. A channel keeps writes back and drains them in batches, for turning it
/// around costs time; the more, the less often it has nothing to read. `write_batch` is theirs at half load.
void Dram::write_back(double t) {
  for (; !written_.empty() && written_.top() <= t; written_.pop()) {
    const std::uint64_t channel = next_written_++ % channels_.size();
    double& kept = kept_[channel];
    if (++kept >= m_.write_batch * 2 * busy_share(written_.top()))
      occupy(channel, written_.top(), std::exchange(kept, 0));
  }
}

}  // namespace occbench::theory
