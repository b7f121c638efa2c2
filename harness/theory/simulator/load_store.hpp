// SPDX-License-Identifier: Apache-2.0
// An SM's one load/store unit: all kinds of memory instructions in one line, so that a store which memory
// cannot take yet holds up what comes after it. A store takes the unit as long as its way to the L2 is wide
// (on an H200 128 bytes two cycles, 512 eight, told by the reads of shared memory that they displace), and a
// barrier that is complete one cycle. What misses goes on to memory.cpp's L2 and DRAM, whose channels have
// queues: loaded latency comes out, it does not go in. How much misses the traffic says; where blocks sweep
// sets of their own that overflow the L1, and where every trip loads the same lines again, lines.cpp says it
// line by line. A load that finds no room in the L1 for what it asks for holds up what comes after it, too.
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

/// All times in SM cycles.
class LoadStore {
 public:
  /// Holds all by reference.
  LoadStore(const Program& program, const Machine& machine, const Traffic& traffic,
            const SmWorkload& workload, Random& random);

  /// That a scheduler's address unit takes for a memory instruction: the four together deliver as fast as
  /// shared memory answers.
  [[nodiscard]] double address_cycles() const { return address_cycles_; }
  /// A warp's load or store whose addresses are there at `t`.
  void access(Warp& w, const Instruction& i, double t);
  /// What a warp does with copies under way, and with the barriers in shared memory that tell of them.
  void execute(Warp& w, const Instruction& i, double t);
  /// When a bulk copy is there that is asked for at `t`.
  double copy(double t) { return memory_.copy(t); }
  /// The unit takes an instruction in that keeps it busy for so long; returns when it has.
  double occupy(double t, double cycles);
  /// A warp stores what it does once, behind its loop; returns when the unit has taken it in.
  double store_once(double t);
  /// When it has taken in all of them.
  [[nodiscard]] double free() const { return free_; }
  /// When memory has taken all that was stored.
  [[nodiscard]] double drained() const { return memory_.drained(); }

  /// Adds what was used.
  void count(Usage& usage) const;

 private:
  double store(double t, double bytes, double dram_share);
  double load(const Warp& w, double t, double bytes, double dram_share, double l2_share, double lines = 1);
  std::size_t next_of_set(Warp& w, std::size_t bytes);
  double look_up(const Warp& w, double t, std::size_t first, std::size_t count);
  double global_load(Warp& w, const Instruction& i, double t, double bytes);

  const Machine& m_;
  const Traffic& t_;
  std::size_t warps_per_block_;
  Accesses accesses_;
  Memory memory_;
  Lines lines_;
  double address_cycles_;
  double passing_ = 0;  ///< lines that missed, less the whole ones
  double free_ = 0;
  double l1_busy_ = 0, shared_busy_ = 0;  ///< cycles
};

}  // namespace occbench::theory
