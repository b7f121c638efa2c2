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
  set_free_at(Pipe::fma, m_.fma_halves > 1 ? std::min(fma_[0], fma_[1]) : fma_[0]);
  set_free_at(Pipe::fma_heavy, fma_[0]);
}

void Scheduler::taken_in(double t) {
  taken_in_[memory_instructions_++ % memory_queue] = t;
  for (const Pipe pipe : memory_pipes) set_free_at(pipe, taken_in_[memory_instructions_ % memory_queue]);
}

/// When it may issue the warp's next instruction.
double Scheduler::earliest(const Warp& w) const {
  return std::max({w.next, free_, free_at_[static_cast<std::size_t>(w.pipe)]});
}

/// In most of a simulation's steps this looks at all warps, without a branch on what one is up to.
void Scheduler::choose(const std::vector<Warp>& warps) {
  next_ = never;
  chosen_ = -1;
  if (last_ >= 0 && earliest(warps[static_cast<std::size_t>(last_)]) == free_) {
    next_ = free_;  // nobody can be earlier, and it comes first
    chosen_ = last_;
    return;
  }
  double least = never;
  std::uint64_t could = 0;  // those that may issue then; an SM has no more warps than bits are here
  for (std::uint64_t bit = 1; const int index : warps_) {
    const double t = earliest(warps[static_cast<std::size_t>(index)]);
    could =
        (could & -static_cast<std::uint64_t>(t >= least)) | (bit & -static_cast<std::uint64_t>(t <= least));
    least = std::min(least, t);
    bit <<= 1;
  }
  next_ = least;
  if (least == never) return;
  for (; could != 0; could &= could - 1) {
    const int index = warps_[static_cast<std::size_t>(std::countr_zero(could))];
    if (index == last_) {
      chosen_ = index;
      return;
    }
    if (chosen_ >= 0) {
      const Warp& w = warps[static_cast<std::size_t>(index)];
      const Warp& other = warps[static_cast<std::size_t>(chosen_)];
      if (w.block > other.block || (w.block == other.block && w.issued >= other.issued)) continue;
    }
    chosen_ = index;
  }
}

/// An instruction whose operands are late stops all behind it: no stall count goes on meanwhile.
void Scheduler::hold_up(std::vector<Warp>& warps, double cycles) const {
  for (const int index : warps_) {
    Warp& w = warps[static_cast<std::size_t>(index)];
    if (w.ready <= next_) continue;
    w.ready += cycles;
    w.update(program_);
  }
}

double Scheduler::issue(std::vector<Warp>& warps) {
  Warp& w = warps[chosen()];
  const Instruction& i = program_.loop[w.at];
  const std::uint8_t* const reads = last_ == chosen_ ? i.reads : i.reads_alone;
  double t = next_;
  for (const std::size_t bank : {0, 1})
    if (reads[bank] > 0) {
      const double cycles = reads[bank] * m_.bank_cycles;
      bank_[bank] = std::max(bank_[bank], next_) + cycles;
      issued_.banks[bank] += cycles;
      t = std::max(t, bank_[bank] - fact("bank_window") * m_.bank_cycles);
    }
  if (t > next_) hold_up(warps, t - next_);
  free_ = t + 1;
  if (i.pipe != Pipe::none) last_ = chosen_;  // what goes to no pipe leaves no trace
  ++issued_.instructions;
  w.ready = t + std::max<double>(i.stall, 1);
  w.issued = t;
  return t;
}

double Scheduler::compute_address(double t, double cycles) {
  const double begun = std::max(address_, t);
  address_ = begun + cycles;
  return begun;
}

void Scheduler::execute(Warp& w, const Instruction& i, double t) {
  constexpr double fma_interval = fact("fma_interval");
  switch (i.pipe) {
    case Pipe::fma: {
      double& half = m_.fma_halves > 1 && fma_[1] < fma_[0] ? fma_[1] : fma_[0];
      half = t + fma_interval;
      set_fma_free_at();
      issued_.fma += fma_interval / m_.fma_halves;
      break;
    }
    case Pipe::fma_heavy: {
      const double busy = i.wide ? fact("wide_product_interval") : fma_interval;
      fma_[0] = t + busy;
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
      tensor_ = std::max(tensor_, t) + m_.mma_cycles;
      set_free_at(Pipe::tensor, std::floor(tensor_));  // whose interval need not be whole
      issued_.tensor += m_.mma_cycles;
      w.hold(i.write, t + fact("mma_latency"));
      break;
    case Pipe::warpgroup: {
      const double busy = m_.warpgroup_cycles_per_column * i.count;
      tensor_ = std::max(tensor_, t) + busy;
      set_free_at(Pipe::tensor, std::floor(tensor_));
      issued_.tensor += busy;
      w.group_of_mma_end = tensor_;
      break;
    }
    case Pipe::wait_warpgroup:
      w.groups.push_back(w.group_of_mma_end);
      if (w.groups.size() > i.count)
        w.groups.erase(w.groups.begin(), w.groups.end() - static_cast<std::ptrdiff_t>(i.count));
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
