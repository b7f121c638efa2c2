// SPDX-License-Identifier: Apache-2.0
// One of an SM's four schedulers, as published and as measured by this suite:
// - It issues one instruction per cycle, greedy then oldest: from the warp that issued last if that is
//   ready, otherwise from the oldest ready warp (Rogers et al. 2012; Huerta et al. 2025, 5.1). A warp is
//   ready when the stall count of its last instruction has elapsed and the scoreboards that the next one
//   waits for are released; both are in the machine code.
// - Each pipe accepts one warp instruction per interval. Two register banks deliver one register each per
//   cycle; the operand cache saves the reads that the compiler marked, unless another warp issued in
//   between. An instruction that cannot read its operands in two cycles stalls the scheduler, including all
//   stall counts.
// - Memory instructions pass the scheduler's address unit and a short queue to the SM's load/store unit.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/program.hpp"
#include "harness/theory/simulator/warp.hpp"

namespace occbench::theory {

/// Statistics of all schedulers: instructions and busy cycles.
struct Issued {
  double instructions = 0;
  double fma = 0, alu = 0, fp64 = 0, special = 0, tensor = 0;
  std::array<double, 2> banks{};  ///< even and odd register bank
};

/// Times in SM cycles.
class Scheduler {
 public:
  /// Holds all three by reference.
  Scheduler(const Program& program, const Machine& machine, Issued& issued)
      : program_(program), m_(machine), issued_(issued) {}

  /// Adds a warp by its index; call in order of age, oldest first.
  void add(int warp) { warps_.push_back(warp); }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(warps_, predicate);
  }

  /// Chooses the warp that issues next.
  void choose(const std::vector<Warp>& warps);
  /// The earliest issue of the chosen warp; `never` if none can issue.
  [[nodiscard]] double next() const { return next_; }
  [[nodiscard]] std::size_t chosen_warp() const { return static_cast<std::size_t>(chosen_warp_); }

  /// Issues the chosen warp's instruction; returns the time, which operand reads may delay beyond next().
  double issue(std::vector<Warp>& warps);
  /// Executes an instruction on one of the scheduler's own pipes.
  void execute(Warp& w, const Instruction& i, double t);
  /// Occupies the address unit for `cycles`; returns when it begins.
  double compute_address(double t, double cycles);
  /// The load/store unit dequeues the last memory instruction at `t`.
  void dequeue_memory(double t);

 private:
  static constexpr auto memory_queue_size = static_cast<std::size_t>(fact("memory_queue"));

  [[nodiscard]] double earliest(const Warp& w) const;
  void set_free_at(Pipe pipe, double t);
  void set_fma_free_at();
  void use_tensor_core(double t, double busy);
  void stall_all(std::vector<Warp>& warps, double cycles) const;

  const Program& program_;
  const Machine& m_;
  Issued& issued_;
  std::vector<int> warps_;  ///< oldest first
  int last_ = -1;           ///< warp that issued last
  // When each unit is free
  double issue_free_at_ = 0;
  double fma_free_at_[2] = {0, 0};   ///< halves of the FMA pipe
  double bank_free_at_[2] = {0, 0};  ///< register banks
  double tensor_free_at_ = 0;
  double address_free_at_ = 0;
  std::array<double, pipe_count> free_at_{};             ///< by pipe, in whole cycles
  std::array<double, memory_queue_size> dequeued_at_{};  ///< the last memory instructions, as a ring
  std::size_t memory_instructions_ = 0;
  double next_ = 0;
  int chosen_warp_ = -1;
};

}  // namespace occbench::theory
