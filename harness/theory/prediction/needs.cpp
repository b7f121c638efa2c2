// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/needs.hpp"

#include <algorithm>
#include <initializer_list>

namespace occbench::theory {

std::string_view missing_parameter(const Parameters& parameters, const Program& program) {
  using P = Parameters;
  struct Need {
    std::initializer_list<Pipe>
        pipes;  // a program that uses any of them needs `values`; empty: every program
    std::initializer_list<double P::*> values;
  };
  static const Need needs[] = {
      {{}, {&P::sm_clock_hz}},
      {{Pipe::alu}, {&P::alu_interval_cycles}},
      {{Pipe::fma, Pipe::fma_heavy}, {&P::operand_interval_cycles}},
      {{Pipe::branch}, {&P::branch_cycles}},
      {{Pipe::barrier}, {&P::barrier_cycles}},
      {{Pipe::shared_load, Pipe::shared_store}, {&P::shared_latency_cycles, &P::shared_bytes_per_cycle}},
      {{Pipe::shared_unit, Pipe::bulk_load, Pipe::wait_stage}, {&P::shared_latency_cycles}},
      // A miss in one level is served by the next.
      {{Pipe::global_load, Pipe::global_store, Pipe::local_load, Pipe::local_store, Pipe::async_load},
       {&P::l1_latency_cycles, &P::l1_bytes_per_cycle, &P::l2_latency_cycles, &P::l2_bytes_per_s}},
      {{Pipe::local_store}, {&P::spill_store_bytes_per_s}},
      {{Pipe::tensor}, {&P::mma_interval_cycles}},
      {{Pipe::global_load, Pipe::global_store, Pipe::local_load, Pipe::local_store, Pipe::async_load,
        Pipe::bulk_load},
       {&P::sm_port_bytes_per_cycle, &P::dram_latency_s, &P::dram_read_bytes_per_s,
        &P::dram_write_bytes_per_s, &P::dram_mixed_bytes_per_s}},
      {{Pipe::bulk_load}, {&P::bulk_copy_latency_s}},
  };
  for (const Need& need : needs) {
    const auto used = [&](Pipe pipe) { return program.count(pipe) > 0; };
    if (need.pipes.size() > 0 && std::ranges::none_of(need.pipes, used)) continue;
    for (double P::*const value : need.values)
      if (!(parameters.*value > 0))
        return std::ranges::find(parameter_fields(), value, &ParameterField::value)->name;
  }
  return {};
}

}  // namespace occbench::theory
