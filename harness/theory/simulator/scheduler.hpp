// SPDX-License-Identifier: Apache-2.0
// One of an SM's four schedulers, as published and as this suite measures it:
// - It issues an instruction a cycle, of the warp that issued last if that can go on, otherwise of the oldest
//   that can (greedy then oldest: Rogers et al. 2012; Huerta et al. 2025, 5.1). A warp may issue when the
//   stall count of its last instruction is over and the scoreboards that this one waits for are free: both
//   are in the machine code.
// - A pipe takes one warp instruction per so many cycles. Two register banks deliver one register each a
//   cycle; the operand cache spares the reads that the compiler marked, unless another warp issued in
//   between. An instruction that cannot read all of its operands in two cycles holds its scheduler up, stall
//   counts and all.
// - Memory instructions go through its address unit to the SM's one load/store unit, which takes in only so
//   many ahead.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/program.hpp"
#include "harness/theory/simulator/warp.hpp"

namespace occbench::theory {

/// What schedulers did; nothing in the simulation asks for it.
struct Issued {
  double instructions = 0;
  double fma = 0, alu = 0, fp64 = 0, special = 0, tensor = 0;  ///< cycles that a pipe was busy
  std::array<double, 2> banks{};                               ///< cycles that each register bank was
};

/// All times in SM cycles.
class Scheduler {
 public:
  /// Holds all three by reference.
  Scheduler(const Program& program, const Machine& machine, Issued& issued)
      : program_(program), m_(machine), issued_(issued) {}

  /// Warps are known by their number, the oldest first.
  void add(int warp) { warps_.push_back(warp); }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(warps_, predicate);
  }

  /// Looks for the warp whose instruction comes next.
  void choose(const std::vector<Warp>& warps);
  /// When that issues, as far as is known, and which it is.
  [[nodiscard]] double next() const { return next_; }
  [[nodiscard]] std::size_t chosen() const { return static_cast<std::size_t>(chosen_); }

  /// Issues it; returns when, which may be later than expected: its operands may be late.
  double issue(std::vector<Warp>& warps);
  /// Has a pipe of the scheduler's own execute it.
  void execute(Warp& w, const Instruction& i, double t);
  /// The address unit computes a memory instruction's addresses in so many cycles; returns when it begins.
  double compute_address(double t, double cycles);
  /// The load/store unit is done with the last memory instruction at `t`.
  void taken_in(double t);

 private:
  static constexpr auto memory_queue = static_cast<std::size_t>(fact("memory_queue"));

  [[nodiscard]] double earliest(const Warp& w) const;
  void set_free_at(Pipe pipe, double t);
  void set_fma_free_at();
  void hold_up(std::vector<Warp>& warps, double cycles) const;

  const Program& program_;
  const Machine& m_;
  Issued& issued_;
  std::vector<int> warps_;  ///< oldest first
  int last_ = -1;
  double free_ = 0;
  double fma_[2] = {0, 0};
  double bank_[2] = {0, 0};  ///< when each register bank has delivered
  double tensor_ = 0;        ///< when the tensor core is free
  std::array<double, pipes>
      free_at_{};       ///< whole cycles when the scheduler and the SM take such an instruction
  double address_ = 0;  ///< when the unit that computes addresses takes its next instruction
  std::array<double, memory_queue>
      taken_in_{};  ///< when the load/store unit is done with the last memory instructions
  std::size_t memory_instructions_ = 0;
  double next_ = 0;
  int chosen_ = -1;
};

}  // namespace occbench::theory
