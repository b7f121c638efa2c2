// SPDX-License-Identifier: Apache-2.0
// What a simulation is given, and what comes out of it.
#pragma once

#include <array>
#include <cstddef>

#include "harness/theory/hardware.hpp"
#include "harness/theory/simulator/flow.hpp"

namespace occbench::theory {

/// One SM in SM cycles and bytes per SM cycle, the memory beyond it in this SM's share.
struct Machine {
  int fma_halves = 2;     ///< halves of the FMA pipe, of 16 lanes each, per scheduler
  double alu_cycles = 2;  ///< that a warp instruction keeps its pipe busy
  double fp64_cycles = 2;
  double special_cycles = fact("special_interval");
  double mma_cycles = 4;
  double warpgroup_cycles_per_column = 0.5;
  double bank_cycles = 1;  ///< for one register of a bank
  double branch_cycles = 0;
  double barrier_cycles = 0;
  double arrival_cycles = 1;  ///< of the SM's barrier unit, per warp that arrives ...
  double release_cycles = 0;  ///< ... and per meeting that is complete ...
  double register_release_cycles =
      0;  ///< ... more where the barrier's id or number of threads is in a register
  double shared_latency = 0;
  double shared_bytes = 128;  ///< per cycle

  double l1_latency = 0;
  double l1_bytes = 128;
  double port_bytes = 64;  ///< from the L2
  double l2_latency = 0;
  double l2_bytes = 0;           ///< this SM's share of what the L2 delivers
  double spill_store_bytes = 0;  ///< of local memory, that the SM writes through to the L2 ...
  double spill_fill_bytes = 1;   ///< ... where its banks are evenly in use
  double dram_latency = 0;
  double dram_spread = 0;
  double dram_bytes = 0;    ///< this SM's share, for this mix of reads and writes
  double dram_service = 0;  ///< that one channel takes for a line of 128 bytes
  double write_wait = 0;    ///< mean cycles that a read would wait if writes kept DRAM busy all the time
  double bulk_extra = 0;    ///< latency of a bulk copy beyond a load's
  double turnover_cycles = 0;
  double start_cycles = 0;  ///< between two blocks of this SM: the GPU's distributor serves one SM at a time
};

/// Where the loop's accesses are answered.
struct Traffic {
  double load_dram = 1;    ///< share of the global loads' bytes that DRAM delivers ...
  double load_l2 = 0;      ///< ... and the L2; the L1 has the rest
  double store_dram = 1;   ///< share of the stored bytes that reach DRAM; the L2 keeps the rest
  double local_l1 = 1;     ///< share of the spilled registers that the L1 holds
  bool in_order = false;   ///< blocks come in the order of the grid, and no warp goes round its loop again
  bool uneven = false;     ///< warps begin at different trips between barriers
  int barrier_groups = 1;  ///< parts of a block that meet only each other
  double local_l2 = 1;     ///< of the spilled registers that the L1 lacks, those that the L2 holds
  double l2_pending_hit =
      0;               ///< share of the loads' bytes that the L2 has, once DRAM has brought them for somebody
  Layout layout = {};  ///< of the accesses
  /// That each block sweeps, side by side, if its lines are to be followed one by one ...
  std::size_t set_bytes = 0;
  /// ... or parts of it that a block's warps divide among them, if the loads that every trip makes of the
  /// same addresses are, and what streams past them ...
  int same_parts = 0;
  std::size_t l1_lines = 0;  ///< ... through an L1 with room for so many; 0: of unknown size
  double l2_bytes =
      0;  ///< that each SM may stream before the L2 loses a line that all leave alone; 0: no limit

  double once_bytes = 0;  ///< per lane, stored to DRAM once, behind the loop
  double bulk_bytes = 0;  ///< of one bulk copy
  int copies_ahead = 0;   ///< copies or groups of them under way as the loop begins
};

/// Warps of one SM at work on the same loop.
struct SmWorkload {
  int blocks = 1;
  int warps_per_block = 1;
  int working_warps = 0;     ///< of a block, that run the loop; 0: all
  double working_share = 1;  ///< of those, that do the work; the others go past it
  int total_blocks = 0;  ///< that this SM runs, one after another once `blocks` are resident; 0: those alone
  int sm = 0;            ///< which of the chip's: chance is another on each
  int sm_count = 1;      ///< of the chip: an SM's blocks are about as many apart
};

/// What came out, in SM cycles.
struct Usage {
  double cycles = 0;  ///< from the first issue to the last warp's end
  double issued = 0;  ///< instructions, of all schedulers
  double fma = 0, alu = 0, fp64 = 0, special = 0,
         tensor = 0;              ///< cycles that a scheduler's pipe was busy, all schedulers
  std::array<double, 2> banks{};  ///< cycles that each register bank was busy, all schedulers
  double barrier = 0;             ///< cycles that the barrier unit was
  double l1 = 0, shared = 0, port = 0, l2 = 0, l2_write = 0,
         dram = 0;  ///< busy cycles of the SM's share
};

}  // namespace occbench::theory
