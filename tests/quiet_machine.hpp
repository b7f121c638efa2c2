// SPDX-License-Identifier: Apache-2.0
// A machine in which nothing takes long, and loops to run on it: each test makes one thing of it slow.
#pragma once

#include <string>

#include "harness/theory/prediction/model.hpp"
#include "harness/theory/simulator/simulate.hpp"

namespace occbench::theory {

/// A loop of these lines: a description's, without its head.
inline Program loop_of(const std::string& lines) {
  return parse_programs("f v 16 0 0 0 1\n" + lines).at({"f", "v"});
}

/// A loop of FMAs that depend on each other, as nvcc schedules them, and no end of the loop to speak of.
inline Program chain(int length, const std::string& fields = "FFMA 4 - - 00 00 00") {
  return loop_of(std::to_string(length) + "*" + fields + "\n");
}

inline Machine quiet_machine() {
  Machine m;
  m.shared_latency = 23;
  m.l1_latency = 32;
  m.l2_latency = 270;
  m.l2_bytes_per_cycle = m.spill_store_bytes_per_cycle = m.port_bytes_per_cycle = 64;
  m.dram_latency = 660;
  m.dram_bytes_per_cycle = 16;
  m.dram_service = 100;
  m.barrier_cycles = 20;
  return m;
}

/// At 1 GHz a byte per second is a byte per 10^9 cycles; what moves at which rate each test says.
inline Parameters quiet_parameters() {
  Parameters p;
  p.sm_clock_hz = 1e9;
  p.alu_interval_cycles = 2;
  p.operand_interval_cycles = 1.5;
  p.l1_latency_cycles = 32;
  p.l1_bytes_per_cycle = 128;
  p.l2_latency_cycles = 270;
  p.sm_port_bytes_per_cycle = 64;
  p.dram_latency_s = 500e-9;
  return p;
}

/// Cycles per turn, without what starting and ending costs.
inline double pace(const Program& program, const SmWorkload& workload, const Traffic& traffic = {},
                   const Machine& machine = quiet_machine(), std::int64_t trips = 40) {
  return (simulate(program, machine, traffic, workload, 2 * trips).cycles -
          simulate(program, machine, traffic, workload, trips).cycles) /
         static_cast<double>(trips);
}

}  // namespace occbench::theory
