// SPDX-License-Identifier: Apache-2.0
// The load/store unit of an SM. All memory instructions share one in-order queue, so a store that memory
// cannot accept, or a load without space in the L1, blocks everything behind it. A store occupies the unit as
// long as the port to the L2 (measured on an H200 by the shared-memory reads it displaces: 2 cycles for 128
// bytes, 8 for 512); a completed barrier occupies it for one cycle. Misses go to Memory, whose queues produce
// the loaded latency. Traffic gives the miss rate, except for sets that overflow the L1 and lines that every
// trip reloads: those are simulated line by line (Lines).
#pragma once

#include <cstddef>

#include "harness/theory/simulator/accesses.hpp"
#include "harness/theory/simulator/lines.hpp"
#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/memory.hpp"
#include "harness/theory/simulator/program.hpp"
#include "harness/theory/simulator/random.hpp"
#include "harness/theory/simulator/warp.hpp"

namespace occbench::theory {

/// Times in SM cycles.
class LoadStore {
 public:
  /// Holds all by reference.
  LoadStore(const Program& program, const Machine& machine, const Traffic& traffic,
            const SmWorkload& workload, Random& random);

  /// Cycles of a scheduler's address unit per memory instruction: the four units together match the
  /// shared-memory bandwidth.
  [[nodiscard]] double address_cycles() const { return address_cycles_; }
  /// Executes a load or store whose addresses are computed at `t`.
  void access(Warp& w, const Instruction& i, double t);
  /// Executes an instruction on asynchronous copies and their mbarriers.
  void execute(Warp& w, const Instruction& i, double t);
  /// Returns when a bulk copy issued at `t` completes.
  double copy(double t) { return memory_.copy(t); }
  /// Occupies the unit for `cycles`; returns when it is free again.
  double occupy(double t, double cycles);
  /// Executes a warp's stores after the loop; returns when the unit has accepted them.
  double store_epilogue(double t);
  /// When the unit is free.
  [[nodiscard]] double free_at() const { return free_at_; }
  /// When memory has accepted all stores.
  [[nodiscard]] double drain_time() const { return memory_.drain_time(); }

  /// Writes the busy cycles of the unit, L2 and DRAM to `usage`.
  void count(Usage& usage) const;

 private:
  double store(double t, double bytes, double dram_share);
  double load(const Warp& w, double t, double bytes, double dram_share, double l2_share, double lines = 1);
  std::size_t next_set_line(Warp& w, std::size_t bytes);
  double load_lines(const Warp& w, double t, std::size_t first, std::size_t count);
  double global_load(Warp& w, const Instruction& i, double t, double bytes);

  const Machine& m_;
  const Traffic& t_;
  std::size_t warps_per_block_;
  Accesses accesses_;
  Memory memory_;
  Lines lines_;
  double address_cycles_;
  double partial_line_ = 0;  ///< fraction of a missed line, carried over to the next load
  double free_at_ = 0;
  double l1_busy_ = 0, shared_busy_ = 0;  ///< cycles
};

}  // namespace occbench::theory
