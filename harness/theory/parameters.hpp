// SPDX-License-Identifier: Apache-2.0
// Device parameters of the model beyond data-sheet limits and rates. Each is measured by `occbench
// calibrate` or cited; none is fitted to a curve that the model predicts.
#pragma once

#include <span>
#include <string_view>

namespace occbench::theory {

/// Cycles are of the SM clock. A latency is from an instruction's issue to that of a dependent one, on an
/// idle GPU.
struct Parameters {
  double sm_clock_hz = 0;      ///< under load, below the power limit
  double tensor_clock_hz = 0;  ///< under full tensor load, at the power limit
  // One scheduler
  double alu_interval_cycles = 0;      ///< between integer or logic instructions of a scheduler
  double operand_interval_cycles = 0;  ///< between FMAs that read three registers without operand-cache hits
  double mma_interval_cycles = 0;      ///< between mma.sync m16n8k16 of bf16
  double branch_cycles = 0;            ///< from a taken branch to the warp's next instruction
  double barrier_cycles = 0;           ///< from the last arrival to the first instruction after the barrier
  double barrier_arrival_cycles = 0;   ///< of the SM's barrier unit, per arriving warp
  double barrier_release_cycles = 0;   ///< of the barrier unit, per completed barrier
  double barrier_register_cycles = 0;  ///< added if its id or thread count is in a register
  // One SM's memory pipes
  double shared_latency_cycles = 0;
  double shared_bytes_per_cycle = 0;
  double l1_reserved_bytes = 0;  ///< of the L1 after the carve-out, not usable for data
  double l1_latency_cycles = 0;
  double l1_bytes_per_cycle = 0;
  // L2
  double l2_latency_cycles = 0;
  double l2_bytes_per_s = 0;                   ///< of all SMs together
  double spill_store_bytes_per_s = 0;          ///< of spilled registers, all SMs together
  double spill_store_8_warps_bytes_per_s = 0;  ///< the same, to 128 lines of each SM
  double sm_port_bytes_per_cycle = 0;          ///< from the L2 to one SM
  // DRAM
  double dram_latency_s = 0;
  double dram_spread_s = 0;                ///< standard deviation of the latency of single loads
  double dram_loaded_latency_s = 0;        ///< of a load while half of the read bandwidth is in use
  double dram_mixed_loaded_latency_s = 0;  ///< the same with as many writes as reads
  double dram_read_bytes_per_s = 0;
  double dram_write_bytes_per_s = 0;
  double dram_narrow_write_bytes_per_s = 0;  ///< single lines at scattered addresses
  double dram_mixed_bytes_per_s = 0;         ///< reads and writes 1:1, summed
  // Launch
  double bulk_copy_latency_s = 0;    ///< of cp.async.bulk from DRAM, including its mbarrier
  double block_turnover_cycles = 0;  ///< from a block's end to its successor's first instruction
  double block_starts_per_s = 0;     ///< maximum of the whole GPU; 0: unknown
  double launch_s = 0;               ///< an empty kernel between two events
};

using ParameterMember = double Parameters::*;  // an alias: nvcc adds parentheses that g++ warns about

/// A parameter as named in parameters.json.
struct ParameterField {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  ParameterMember value;
};
/// All of them, in the order of the struct.
std::span<const ParameterField> parameter_fields();

}  // namespace occbench::theory
