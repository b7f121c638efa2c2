// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/load_store.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr auto line_bytes = static_cast<std::size_t>(fact("line_bytes"));

}  // namespace

LoadStore::LoadStore(const Program& program, const Machine& machine, const Traffic& traffic,
                     const SmWorkload& workload, Random& random)
    : m_(machine),
      t_(traffic),
      warps_per_block_(static_cast<std::size_t>(workload.warps_per_block)),
      accesses_(program, traffic),
      memory_(machine, traffic, random),
      lines_(machine, traffic, workload, random),
      address_cycles_(std::round(fact("schedulers") * fact("line_bytes") / machine.shared_bytes_per_cycle)) {}

double LoadStore::occupy(double t, double cycles) {
  free_at_ = std::max(free_at_, t) + cycles;
  return free_at_;
}

double LoadStore::load(const Warp& w, double t, double bytes, double dram_share, double l2_share,
                       double lines) {
  const Accesses::Run& run = accesses_.run(w.pc);
  std::uint64_t row =
      static_cast<std::uint64_t>(w.block) << 40 ^ static_cast<std::uint64_t>(w.trips) << 16 ^ run.first;
  if (t_.layout.apart) row ^= static_cast<std::uint64_t>(w.index + 1) << 56;
  return memory_.load(
      {row, (t_.layout.apart ? 0 : w.index * run.lines) + run.line, bytes, dram_share, l2_share, lines}, t);
}

/// First line of the warp's next load from its block's set; the warps interleave.
std::size_t LoadStore::next_set_line(Warp& w, std::size_t bytes) {
  const std::size_t load = static_cast<std::size_t>(w.index) + w.set_loads++ * warps_per_block_;
  return w.set_line + load * bytes % t_.set_bytes / line_bytes;
}

/// Loads lines through the simulated L1; returns when they have arrived.
double LoadStore::load_lines(const Warp& w, double t, std::size_t first, std::size_t count) {
  const double hits_done = lines_.look_up(first, count, t);
  if (lines_.missed_count() == 0) return hits_done;
  return std::max(hits_done, lines_.request_missed(
                                 load(w, t, static_cast<double>(lines_.missed_count() * line_bytes), 0, 1)));
}

/// Returns when the data of a load that leaves the unit at `t` has arrived.
double LoadStore::global_load(Warp& w, const Instruction& i, double t, double bytes) {
  const std::size_t count = accesses_.lines_of(i);
  if (t_.set_bytes > 0) return load_lines(w, t, next_set_line(w, static_cast<std::size_t>(bytes)), count);
  if (accesses_.reuses_lines(i)) {
    const auto part = static_cast<std::size_t>(w.index % t_.reuse_parts);
    return load_lines(w, t, accesses_.reused_line(w.pc) + count * part, count);
  }
  const double from_dram = accesses_.dram_share(w.pc);
  const double from_l2 = t_.load_dram < 1 ? (1 - from_dram) * t_.load_l2 / (1 - t_.load_dram) : 0;
  const double arrival = load(w, t, bytes, from_dram, from_l2, t_.layout.lines);
  if (i.pipe != Pipe::global_load) return arrival;  // cp.async takes no space in the L1
  const double missed = from_dram + from_l2;
  lines_.count_streamed(missed * bytes);
  partial_line_ += missed * static_cast<double>(count);
  const auto whole_lines = static_cast<std::size_t>(partial_line_ + 1e-9);
  partial_line_ -= static_cast<double>(whole_lines);
  if (t_.reuse_parts > 0)
    lines_.stream_through_l1(whole_lines, arrival);
  else
    lines_.stream(whole_lines, arrival);
  return arrival;
}

double LoadStore::store(double t, double bytes, double dram_share) {
  const double busy = std::max(1.0, bytes / m_.port_bytes_per_cycle);
  const double done = occupy(std::max(t, memory_.stores_accepted_at()), busy);
  l1_busy_ += busy;
  lines_.count_streamed(bytes);
  memory_.store(done, bytes, dram_share);
  return done;
}

double LoadStore::store_epilogue(double t) {
  return t_.epilogue_bytes > 0 ? store(t, t_.epilogue_bytes * fact("warp_lanes"), 1) : t;
}

void LoadStore::access(Warp& w, const Instruction& i, double t) {
  const double bytes = static_cast<double>(i.bytes) * t_.layout.lanes;
  switch (i.pipe) {
    case Pipe::shared_load:
    case Pipe::shared_store: {
      const double busy = std::max(1.0, std::round(bytes / m_.shared_bytes_per_cycle)) *
                          (i.pipe == Pipe::shared_store ? t_.layout.store_conflict : t_.layout.bank_conflict);
      const double done = occupy(t, busy);
      shared_busy_ += busy;
      w.hold(i.read, t + address_cycles_);  // operands are read before the access queues
      const double last = done - busy + fact("wavefront_interval") * (busy - std::min(busy, 1.0));
      w.hold(i.write, std::max(last, done - 1) + std::max(1.0, i.bytes / fact("register_bytes")) - 1 +
                          m_.shared_latency);
      return;
    }
    case Pipe::local_load: {
      const double busy = std::max(1.0, bytes / m_.l1_bytes_per_cycle);
      const double done = occupy(t, busy);
      l1_busy_ += busy;
      w.hold(i.read, done);
      const double missed = 1 - t_.local_l1;
      w.hold(i.write, load(w, done, bytes, missed * (1 - t_.local_l2), missed * t_.local_l2));
      return;
    }
    case Pipe::local_store: {  // the L1 writes through
      const double busy = std::max(1.0, bytes / m_.port_bytes_per_cycle);
      const double done = occupy(std::max(t, memory_.spills_accepted_at()), busy);
      l1_busy_ += busy;
      w.hold(i.read, done);
      memory_.store_spilled(done, bytes);
      return;
    }
    case Pipe::global_store: {
      w.hold(i.read, store(t, bytes, t_.store_dram));
      return;
    }
    default: {
      if (i.pipe == Pipe::global_load) t = lines_.wait_for_space(t, accesses_.lines_of(i));
      const double busy = std::max(1.0, bytes / m_.l1_bytes_per_cycle) * t_.layout.lines;
      const double done = occupy(t, busy);
      l1_busy_ += busy;
      w.hold(i.read, done);
      const double arrival = global_load(w, i, done - 1, bytes);
      if (i.pipe == Pipe::async_load)
        w.copy_group_end = std::max(w.copy_group_end, arrival);
      else
        w.hold(i.write, arrival);
    }
  }
}

void LoadStore::execute(Warp& w, const Instruction& i, double t) {
  switch (i.pipe) {
    case Pipe::bulk_load:
      w.copies.push_back(copy(t));
      w.hold(i.read, t + m_.shared_latency);
      break;
    case Pipe::shared_unit:
      w.hold(i.read, t + m_.shared_latency);
      w.hold(i.write, t + m_.shared_latency);
      break;
    case Pipe::commit_copies:
      w.copies.push_back(w.copy_group_end);
      w.copy_group_end = 0;
      break;
    case Pipe::wait_copies:
      if (w.copies.size() > i.count)
        w.copies.erase(w.copies.begin(), w.copies.end() - static_cast<std::ptrdiff_t>(i.count));
      break;
    default:  // wait_stage
      if (!w.copies.empty()) w.copies.erase(w.copies.begin());
      w.hold(i.write, t + m_.shared_latency);
  }
}

void LoadStore::count(Usage& usage) const {
  usage.l1 = l1_busy_;
  usage.shared = shared_busy_;
  memory_.count(usage);
}

}  // namespace occbench::theory
