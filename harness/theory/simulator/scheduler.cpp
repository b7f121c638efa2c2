// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace occbench::theory {

namespace {

constexpr Pipe memory_pipes[] = {Pipe::global_load, Pipe::global_store, Pipe::shared_load, Pipe::shared_store,
                                 Pipe::local_load,  Pipe::local_store,  Pipe::async_load};

}  // namespace

void Scheduler::set_free_at(Pipe pipe, double t) {
  free_at_[static_cast<std::size_t>(pipe)] = whole_cycle(t);
}

void Scheduler::set_fma_free_at() {
  set_free_at(Pipe::fma, m_.fma_halves > 1 ? std::min(fma_free_at_[0], fma_free_at_[1]) : fma_free_at_[0]);
  set_free_at(Pipe::fma_heavy, fma_free_at_[0]);
}

void Scheduler::dequeue_memory(double t) {
  dequeued_at_[memory_instructions_++ % memory_queue_size] = t;
  for (const Pipe pipe : memory_pipes)
    set_free_at(pipe, dequeued_at_[memory_instructions_ % memory_queue_size]);
}

double Scheduler::earliest(const Warp& w) const {
  return std::max({w.next, issue_free_at_, free_at_[static_cast<std::size_t>(w.pipe)]});
}

/// The hottest loop of the simulation: it has no branch that depends on a warp's state.
void Scheduler::choose(const std::vector<Warp>& warps) {
  next_ = never;
  chosen_warp_ = -1;
  if (last_ >= 0 && earliest(warps[static_cast<std::size_t>(last_)]) == issue_free_at_) {
    next_ = issue_free_at_;  // no warp can be earlier, and the last one has priority
    chosen_warp_ = last_;
    return;
  }
  double earliest_issue = never;
  std::uint64_t candidates = 0;  // warps that may issue then, one bit each: an SM has at most 64
  for (std::uint64_t bit = 1; const int index : warps_) {
    const double t = earliest(warps[static_cast<std::size_t>(index)]);
    candidates = (candidates & -static_cast<std::uint64_t>(t >= earliest_issue)) |
                 (bit & -static_cast<std::uint64_t>(t <= earliest_issue));
    earliest_issue = std::min(earliest_issue, t);
    bit <<= 1;
  }
  next_ = earliest_issue;
  if (earliest_issue == never) return;
  for (; candidates != 0; candidates &= candidates - 1) {
    const int index = warps_[static_cast<std::size_t>(std::countr_zero(candidates))];
    if (index == last_) {
      chosen_warp_ = index;
      return;
    }
    if (chosen_warp_ >= 0) {
      const Warp& w = warps[static_cast<std::size_t>(index)];
      const Warp& other = warps[static_cast<std::size_t>(chosen_warp_)];
      if (w.block > other.block || (w.block == other.block && w.issued >= other.issued)) continue;
    }
    chosen_warp_ = index;
  }
}

/// While an instruction waits for its operands, the stall counts of all warps stop.
void Scheduler::stall_all(std::vector<Warp>& warps, double cycles) const {
  for (const int index : warps_) {
    Warp& w = warps[static_cast<std::size_t>(index)];
    if (w.ready <= next_) continue;
    w.ready += cycles;
    w.update(program_);
  }
}

double Scheduler::issue(std::vector<Warp>& warps) {
  Warp& w = warps[chosen_warp()];
  const Instruction& i = program_.loop[w.pc];
  const std::uint8_t* const reads = last_ == chosen_warp_ ? i.reads : i.reads_alone;
  double t = next_;
  for (const std::size_t bank : {0, 1})
    if (reads[bank] > 0) {
      const double cycles = reads[bank] * m_.bank_cycles;
      bank_free_at_[bank] = std::max(bank_free_at_[bank], next_) + cycles;
      issued_.banks[bank] += cycles;
      t = std::max(t, bank_free_at_[bank] - fact("bank_window") * m_.bank_cycles);
    }
  if (t > next_) stall_all(warps, t - next_);
  issue_free_at_ = t + 1;
  if (i.pipe != Pipe::none) last_ = chosen_warp_;
  ++issued_.instructions;
  w.ready = t + std::max<double>(i.stall, 1);
  w.issued = t;
  return t;
}

double Scheduler::compute_address(double t, double cycles) {
  const double start = std::max(address_free_at_, t);
  address_free_at_ = start + cycles;
  return start;
}

/// The interval may be fractional, so instructions may queue for part of a cycle.
void Scheduler::use_tensor_core(double t, double busy) {
  tensor_free_at_ = std::max(tensor_free_at_, t) + busy;
  set_free_at(Pipe::tensor, std::floor(tensor_free_at_));
  issued_.tensor += busy;
}

void Scheduler::execute(Warp& w, const Instruction& i, double t) {
  constexpr double fma_interval = fact("fma_interval");
  switch (i.pipe) {
    case Pipe::fma:
      fma_free_at_[m_.fma_halves > 1 && fma_free_at_[1] < fma_free_at_[0] ? 1 : 0] = t + fma_interval;
      set_fma_free_at();
      issued_.fma += fma_interval / m_.fma_halves;
      break;
    case Pipe::fma_heavy: {
      const double busy = i.wide ? fact("wide_product_interval") : fma_interval;
      fma_free_at_[0] = t + busy;
      set_fma_free_at();
      issued_.fma += busy / m_.fma_halves;
      break;
    }
    case Pipe::alu:
      set_free_at(Pipe::alu, t + m_.alu_cycles);
      issued_.alu += m_.alu_cycles;
      break;
    case Pipe::fp64:
      set_free_at(Pipe::fp64, t + m_.fp64_cycles);
      issued_.fp64 += m_.fp64_cycles;
      w.hold(i.write, t + fact("fp64_latency") + m_.fp64_cycles);
      break;
    case Pipe::special:
      set_free_at(Pipe::special, t + m_.special_cycles);
      issued_.special += m_.special_cycles;
      w.hold(i.write, t + fact("special_latency"));
      break;
    case Pipe::uniform:
      set_free_at(Pipe::uniform, t + fact("uniform_interval"));
      w.hold(i.write, t + fact("uniform_latency"));
      break;
    case Pipe::tensor:
      use_tensor_core(t, m_.mma_cycles);
      w.hold(i.write, t + fact("mma_latency"));
      break;
    case Pipe::warpgroup:
      use_tensor_core(t, m_.warpgroup_cycles_per_column * i.count);
      w.wgmma_end = tensor_free_at_;
      break;
    case Pipe::wait_warpgroup:
      w.wgmma_groups.push_back(w.wgmma_end);
      if (w.wgmma_groups.size() > i.count)
        w.wgmma_groups.erase(w.wgmma_groups.begin(),
                             w.wgmma_groups.end() - static_cast<std::ptrdiff_t>(i.count));
      break;
    case Pipe::branch:
      if (i.taken) w.ready = t + std::max<double>(i.stall, m_.branch_cycles);
      break;
    case Pipe::other:
      w.hold(i.write, t + fact("constant_latency"));
      w.hold(i.read, t + fact("constant_read"));
      break;
    default:
      w.hold(i.write, t + fact("slot_latency"));
      break;
  }
}

}  // namespace occbench::theory
