// SPDX-License-Identifier: Apache-2.0
// What the model must be told of a device, beyond the limits and rates that data sheets give: each value is
// measured by `occbench calibrate`, or cited. None is fitted on a curve that the model predicts.
#pragma once

#include <span>
#include <string_view>

namespace occbench::theory {

/// Cycles are of the SM clock; a latency is from issue to the first dependent instruction's, in an idle
/// machine.
struct Parameters {
  double sm_clock_hz = 0;      ///< under load that draws no power limit
  double tensor_clock_hz = 0;  ///< under full tensor load: the board's power limit pulls it down
  // One scheduler
  double alu_interval_cycles = 0;  ///< between integer or logic instructions of a scheduler
  double operand_interval_cycles =
      0;                           ///< between FMAs that read three different registers, none of them kept
  double mma_interval_cycles = 0;  ///< between mma.sync m16n8k16 of bf16
  double branch_cycles = 0;        ///< from a taken branch to the warp's next instruction
  double barrier_cycles = 0;  ///< from the last warp's arrival to the first instruction behind the barrier
  double barrier_arrival_cycles = 0;   ///< of the SM's barrier unit, for each warp that arrives ...
  double barrier_release_cycles = 0;   ///< ... and for each meeting that is complete, ...
  double barrier_register_cycles = 0;  ///< ... more if the id or the number of threads is in a register
  // One SM's memory pipes
  double shared_latency_cycles = 0;
  double shared_bytes_per_cycle = 0;
  double l1_reserved_bytes = 0;  ///< of the L1 that the carve-out leaves, what holds no data
  double l1_latency_cycles = 0;
  double l1_bytes_per_cycle = 0;
  // L2
  double l2_latency_cycles = 0;
  double l2_bytes_per_s = 0;           ///< of all SMs together
  double spill_store_bytes_per_s = 0;  ///< of spilled registers, that all SMs together write through to it
  double spill_store_8_warps_bytes_per_s = 0;  ///< the same, to 128 lines of each SM
  double sm_port_bytes_per_cycle = 0;          ///< one SM alone, from the L2
  // DRAM
  double dram_latency_s = 0;
  double dram_spread_s = 0;                ///< standard deviation of the latency of single loads
  double dram_loaded_latency_s = 0;        ///< of a load while half of the read bandwidth is in use
  double dram_mixed_loaded_latency_s = 0;  ///< the same while as much is written as read
  double dram_read_bytes_per_s = 0;
  double dram_write_bytes_per_s = 0;
  double dram_narrow_write_bytes_per_s = 0;  ///< of all warps, a line here and a line there
  double dram_mixed_bytes_per_s = 0;         ///< as much written as read
  // Launch
  double bulk_copy_latency_s = 0;    ///< of cp.async.bulk from DRAM, with the wait for its mbarrier
  double block_turnover_cycles = 0;  ///< from a block's end to its successor's first instruction
  double block_starts_per_s = 0;     ///< that the whole GPU begins at most; 0: no limit known
  double launch_s = 0;               ///< an empty kernel between two events
};

using ParameterMember = double Parameters::*;  // a name of its own: nvcc sets parentheses that g++ warns of

/// One parameter by its name in parameters.json.
struct ParameterField {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  ParameterMember value;
};
/// All of them, in the order of the struct.
std::span<const ParameterField> parameter_fields();

}  // namespace occbench::theory
