// SPDX-License-Identifier: Apache-2.0
#include "harness/predict.hpp"

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <thread>

#include "harness/machine_code.hpp"

namespace occbench {

namespace {

theory::Flow flow_of(const Variant& v) {
  const Flow& f = v.flow;
  return {.dram_bytes = v.pass.dram_bytes,
          .l2_bytes = f.l2_bytes,
          .shared_bytes = f.shared_bytes,
          .reused_bytes = f.reused_bytes,
          .working_set_bytes = v.dials.working_set_bytes,
          .own_working_set = f.own_working_set,
          .lines = f.lines,
          .apart = f.apart,
          .warp_set_bytes = f.warp_set_bytes,
          .halo_rows = f.halo_rows,
          .barrier_groups = f.barrier_groups,
          .uneven = f.uneven,
          .bank_conflict = f.bank_conflict,
          .store_conflict = f.store_conflict,
          .lanes = f.lanes,
          .stage_bytes = f.stage_bytes,
          .stages = f.stage_bytes > 0 ? v.dials.stages : 0};
}

/// What the L1 has of the array that it shares with shared memory (CUDA C++ Programming Guide, 'Shared Memory' of each
/// compute capability): the whole is 28 KiB more than shared memory can take, 32 KiB on cc 7.x.
std::size_t l1_bytes(const theory::SmLimits& sm, const theory::Footprint& footprint) {
  const std::size_t whole = sm.smem_per_sm_bytes + (sm.cc_major < 8 ? 32 : 28) * std::size_t{1024};
  return whole - std::min(whole, theory::smem_capacity_bytes(sm, footprint));
}

/// The first parameter without which nothing can be said of this program and that is not known (0), by its name; empty
/// if there is none. What is not asked for here is a refinement, whose 0 means 'none of it'.
std::string_view lacking(const theory::Parameters& parameters, const theory::Program& program) {
  using P = theory::Parameters;
  using theory::Pipe;
  struct Need {
    std::initializer_list<Pipe> pipes;  // any of them needs ...
    std::initializer_list<double P::*> values;
  };
  static const Need needs[] = {
      {{Pipe::alu}, {&P::alu_interval_cycles}},
      {{Pipe::fma, Pipe::fma_heavy}, {&P::operand_interval_cycles}},
      {{Pipe::branch}, {&P::branch_cycles}},
      {{Pipe::barrier}, {&P::barrier_cycles}},
      {{Pipe::shared_load, Pipe::shared_store}, {&P::shared_latency_cycles, &P::shared_bytes_per_cycle}},
      {{Pipe::shared_unit, Pipe::bulk_load, Pipe::wait_stage}, {&P::shared_latency_cycles}},
      // Whatever misses one of these goes on to the next.
      {{Pipe::global_load, Pipe::global_store, Pipe::local_load, Pipe::local_store, Pipe::async_load},
       {&P::l1_latency_cycles, &P::l1_bytes_per_cycle, &P::l2_latency_cycles, &P::l2_bytes_per_s}},
      {{Pipe::local_store}, {&P::spill_store_bytes_per_s}},
      {{Pipe::global_load, Pipe::global_store, Pipe::local_load, Pipe::local_store, Pipe::async_load,
        Pipe::bulk_load},
       {&P::sm_port_bytes_per_cycle, &P::dram_latency_s, &P::dram_read_bytes_per_s,
        &P::dram_write_bytes_per_s, &P::dram_mixed_bytes_per_s}},
  };
  for (const Need& need : needs) {
    if (std::ranges::none_of(need.pipes, [&](Pipe pipe) { return program.count(pipe) > 0; })) continue;
    for (double P::*const value : need.values)
      if (!(parameters.*value > 0))
        return std::ranges::find(theory::parameter_fields(), value, &theory::ParameterField::value)->name;
  }
  return {};
}

Forecast predict_one(const Case& c, const Device& device, const theory::Parameters& parameters) {
  const Variant& v = *c.spec.variant;
  if (v.in_clusters) return {{}, "the network between the SMs of a cluster is outside the model"};
  const theory::Program* const program = machine_code(v, device.cc());
  if (program == nullptr)
    return {{}, "no description of its machine code; `occbench audit --describe` writes it"};
  if (const auto name = lacking(parameters, *program); !name.empty())
    return {{}, "the device's parameters lack '" + std::string(name) + "', which this kernel needs"};
  const int warps = theory::warps_per_block(device.sm, c.footprint);
  const theory::Shape shape{
      .grid_size = c.launch.grid_size,
      .warps_per_block = warps,
      .blocks_per_sm = c.occupancy.blocks_per_sm,
      .working_warps = v.flow.working_warps > 0 ? v.flow.working_warps : warps - v.flow.idle_warps,
      .working_share = v.flow.working_share,
      .passes = c.iterations,
      .l1_bytes = l1_bytes(device.sm, c.footprint)};
  const theory::Chip chip{.sm_count = device.sm.sm_count,
                          .fp32_lanes_per_sm = device.fp32_lanes_per_sm,
                          .fp64_lanes_per_sm = device.fp64_lanes_per_sm,
                          .tensor_bf16_fma_per_sm = device.tensor_bf16_fma_per_sm,
                          .l2_bytes = device.l2_bytes,
                          .dram_bytes_per_s = device.dram_bytes_per_s};
  try {
    return {theory::predict(*program, flow_of(v), shape, chip, parameters), ""};
  } catch (const std::invalid_argument& e) {
    return {{}, e.what()};
  }
}

}  // namespace

std::vector<Forecast> predict(std::span<const Case> cases, const Device& device,
                              const theory::Parameters& parameters) {
  std::vector<Forecast> forecasts(cases.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++)
      if (cases[i].status == Status::valid) forecasts[i] = predict_one(cases[i], device, parameters);
  };
  std::vector<std::jthread> others;
  for (unsigned n = 1; n < std::thread::hardware_concurrency(); ++n) others.emplace_back(work);
  work();
  return forecasts;
}

}  // namespace occbench
