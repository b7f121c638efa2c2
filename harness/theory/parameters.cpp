// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/parameters.hpp"

namespace occbench::theory {

std::span<const ParameterField> parameter_fields() {
  using P = Parameters;
  static constexpr ParameterField fields[] = {
      {"sm_clock", "Hz", "SM clock under load, below the power limit", &P::sm_clock_hz},
      {"tensor_clock", "Hz", "SM clock under full tensor load, at the power limit", &P::tensor_clock_hz},
      {"alu_interval", "cycle", "between integer instructions of one scheduler", &P::alu_interval_cycles},
      {"operand_interval", "cycle", "between FMAs of three distinct registers, one scheduler",
       &P::operand_interval_cycles},
      {"mma_interval", "cycle", "between mma.sync m16n8k16 of bf16, one scheduler", &P::mma_interval_cycles},
      {"branch", "cycle", "from a taken branch to the warp's next instruction", &P::branch_cycles},
      {"barrier", "cycle", "from the last arrival to the first instruction after the barrier",
       &P::barrier_cycles},
      {"barrier_arrival", "cycle", "of the barrier unit, per arriving warp", &P::barrier_arrival_cycles},
      {"barrier_release", "cycle", "of the barrier unit, per completed barrier", &P::barrier_release_cycles},
      {"barrier_register", "cycle",
       "of the barrier unit, added if the barrier's id or thread count is in a register",
       &P::barrier_register_cycles},
      {"shared_latency", "cycle", "of a dependent shared-memory load", &P::shared_latency_cycles},
      {"shared_bandwidth", "byte/cycle", "of one SM's shared memory", &P::shared_bytes_per_cycle},
      {"l1_reserved", "byte", "of the L1 after the carve-out, not usable for data", &P::l1_reserved_bytes},
      {"l1_latency", "cycle", "of a dependent load that hits the L1", &P::l1_latency_cycles},
      {"l1_bandwidth", "byte/cycle", "of one SM's L1", &P::l1_bytes_per_cycle},
      {"l2_latency", "cycle", "of a dependent load that hits the L2", &P::l2_latency_cycles},
      {"l2_bandwidth", "byte/s", "L2 to all SMs", &P::l2_bytes_per_s},
      {"spill_store_bandwidth", "byte/s", "stores of spilled registers, all SMs to the L2",
       &P::spill_store_bytes_per_s},
      {"spill_store_bandwidth_8_warps", "byte/s", "the same for eight warps per SM, 128 lines per SM",
       &P::spill_store_8_warps_bytes_per_s},
      {"sm_port_bandwidth", "byte/cycle", "L2 to one SM alone", &P::sm_port_bytes_per_cycle},
      {"dram_latency", "s", "of a dependent load from DRAM", &P::dram_latency_s},
      {"dram_spread", "s", "standard deviation of that latency over single loads", &P::dram_spread_s},
      {"dram_loaded_latency", "s", "of a load while half of the read bandwidth is in use",
       &P::dram_loaded_latency_s},
      {"dram_mixed_loaded_latency", "s", "of a load while half of the mixed bandwidth is in use",
       &P::dram_mixed_loaded_latency_s},
      {"dram_read_bandwidth", "byte/s", "reads alone", &P::dram_read_bytes_per_s},
      {"dram_write_bandwidth", "byte/s", "writes alone", &P::dram_write_bytes_per_s},
      {"dram_narrow_write_bandwidth", "byte/s", "writes alone, single lines at scattered addresses",
       &P::dram_narrow_write_bytes_per_s},
      {"dram_mixed_bandwidth", "byte/s", "reads and writes 1:1, summed", &P::dram_mixed_bytes_per_s},
      {"bulk_copy_latency", "s", "of cp.async.bulk from DRAM, including its mbarrier",
       &P::bulk_copy_latency_s},
      {"block_turnover", "cycle", "from a block's end to its successor's first instruction",
       &P::block_turnover_cycles},
      {"block_starts", "block/s", "maximum of the whole GPU", &P::block_starts_per_s},
      {"launch", "s", "an empty kernel between two events", &P::launch_s},
  };
  return fields;
}

}  // namespace occbench::theory
