// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a simulation.
#pragma once

#include <array>
#include <cstddef>

#include "harness/theory/hardware.hpp"
#include "harness/theory/simulator/flow.hpp"

namespace occbench::theory {

/// One SM and its share of L2 and DRAM. Latencies and intervals in SM cycles.
struct Machine {
  int fma_halves = 2;     ///< 16-lane halves of a scheduler's FMA pipe
  double alu_cycles = 2;  ///< for which a warp instruction occupies its pipe; the same below
  double fp64_cycles = 2;
  double special_cycles = fact("special_interval");
  double mma_cycles = 4;
  double warpgroup_cycles_per_column = 0.5;
  double bank_cycles = 1;  ///< to read one register of a bank
  double branch_cycles = 0;
  double barrier_cycles = 0;
  double arrival_cycles = 1;           ///< of the SM's barrier unit, per arriving warp
  double release_cycles = 0;           ///< of the barrier unit, per completed barrier
  double register_release_cycles = 0;  ///< added if the barrier's id or thread count is in a register
  double shared_latency = 0;
  double shared_bytes_per_cycle = 128;

  double l1_latency = 0;
  double l1_bytes_per_cycle = 128;
  double port_bytes_per_cycle = 64;  ///< of the SM's port to the L2
  double l2_latency = 0;
  double l2_bytes_per_cycle = 0;           ///< this SM's share of the L2 bandwidth
  double spill_store_bytes_per_cycle = 0;  ///< of stores to local memory, written through to the L2
  double spill_fill_bytes_per_cycle = 1;   ///< the same if all L2 banks are used evenly
  double dram_latency = 0;
  double dram_spread = 0;           ///< standard deviation of dram_latency
  double dram_bytes_per_cycle = 0;  ///< this SM's share, for this mix of reads and writes
  double dram_service = 0;          ///< cycles for which a 128-byte line occupies a channel
  double write_wait = 0;       ///< mean cycles that a read would wait if writes kept DRAM busy all the time
  double bulk_extra = 0;       ///< latency of a bulk copy beyond that of a load
  double turnover_cycles = 0;  ///< from a block's end to the start of its successor
  double start_cycles = 0;     ///< between two block starts on this SM: one distributor serves all SMs
};

/// The memory traffic of a loop and what serves it. Shares are of bytes.
struct Traffic {
  double load_dram = 1;       ///< of global loads, served by DRAM
  double load_l2 = 0;         ///< of global loads, served by the L2; the L1 serves the rest
  double store_dram = 1;      ///< of global stores, written to DRAM; the L2 absorbs the rest
  double local_l1 = 1;        ///< of spilled registers, held by the L1
  bool in_order = false;      ///< one trip only: blocks run in grid order and no warp runs ahead in a loop
  bool uneven = false;        ///< warps start at different trips between barriers
  int barrier_groups = 1;     ///< parts of a block that synchronize separately
  double local_l2 = 1;        ///< of spilled registers that miss the L1, held by the L2
  double l2_pending_hit = 0;  ///< of global loads, L2 hits on lines still in flight from DRAM
  Layout layout = {};
  std::size_t set_bytes = 0;   ///< swept by each block, simulated line by line; 0: not simulated
  int reuse_parts = 0;         ///< parts of the lines that every trip reloads, one per warp; 0: none
  std::size_t l1_lines = 0;    ///< capacity of the L1; 0: unknown
  double l2_stream_bytes = 0;  ///< streamed per SM before the L2 evicts an unused line; 0: unlimited

  double epilogue_bytes = 0;  ///< per lane, stored to DRAM after the loop
  double bulk_bytes = 0;      ///< of one bulk copy
  int copies_ahead = 0;       ///< copies, or groups of them, in flight when the loop begins
};

/// The warps of one SM.
struct SmWorkload {
  int blocks = 1;  ///< resident at once
  int warps_per_block = 1;
  int working_warps = 0;     ///< warps of a block that run the loop; 0: all
  double working_share = 1;  ///< share of the working warps that do the work; the others skip it
  int total_blocks = 0;      ///< that this SM runs in the whole launch; 0: `blocks`
  int sm = 0;                ///< index, which seeds the random numbers
  int sm_count = 1;          ///< the SM's blocks are about this far apart in the grid
};

/// SM cycles. Busy cycles of a scheduler's units are summed over all schedulers.
struct Usage {
  double cycles = 0;  ///< from the first issue to the end of the last warp
  double issued = 0;  ///< instructions
  double fma = 0, alu = 0, fp64 = 0, special = 0, tensor = 0;
  std::array<double, 2> banks{};  ///< even and odd register bank
  double barrier = 0;
  double l1 = 0, shared = 0, port = 0, l2 = 0, l2_write = 0, dram = 0;  ///< busy cycles of the SM's share
};

}  // namespace occbench::theory
