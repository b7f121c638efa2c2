// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/demand.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");
constexpr double warp_lanes = fact("warp_lanes");
constexpr double lanes_of_all = fact("schedulers") * warp_lanes;  // that an instruction of each scheduler has

/// Share of a set that a cache of random replacement keeps while it is swept again and again: h = exp(-(1-h)
/// n / c).
double kept(double set_bytes, double cache_bytes) {
  if (set_bytes <= cache_bytes) return 1;
  double hit = 0;
  for (int i = 0; i < 50; ++i) hit = std::exp(-(1 - hit) * set_bytes / cache_bytes);
  return hit;
}

/// What all SMs together can store of spilled registers when each stores to so many lines again and again.
/// Lines lie in the L2's banks as chance has it, and the fullest bank sets the pace: by the square root of
/// the lines fuller than the others, if they are many. Both parameters are of so many lines of an SM.
double spill_store_bytes_per_s(const Parameters& p, double lines) {
  constexpr double few_lines = 128, many_lines = 1024;  // as `occbench calibrate` measures them
  const double many = 1 / p.spill_store_bytes_per_s;
  if (p.spill_store_8_warps_bytes_per_s == 0 || lines == 0) return p.spill_store_bytes_per_s;
  const double few = 1 / p.spill_store_8_warps_bytes_per_s;
  const double slope = std::max(0.0, few - many) / (1 / std::sqrt(few_lines) - 1 / std::sqrt(many_lines));
  return 1 / std::max(many / 2, many + slope * (1 / std::sqrt(lines) - 1 / std::sqrt(many_lines)));
}

}  // namespace

Demand demand_of(const Program& program, const LoopFacts& facts, const Shape& shape, const DeviceSpec& device,
                 const Parameters& p) {
  const Flow& flow = facts.flow;
  Demand d;
  const double loaded =
      (program.bytes(Pipe::global_load) + program.bytes(Pipe::async_load)) / program.iterations;
  const double stored = program.bytes(Pipe::global_store) / program.iterations;
  const double to_dram = std::min(stored, facts.dram_bytes);
  const double from_dram = std::min(loaded, facts.dram_bytes - to_dram);
  if (facts.dram_bytes > 0) {
    d.traffic.once_bytes = facts.once_bytes;
    const double once = facts.once_bytes / static_cast<double>(std::max<std::int64_t>(shape.iterations, 1));
    d.dram.written = (to_dram + once) / (facts.dram_bytes + once);
  }
  d.traffic.store_dram = stored > 0 ? to_dram / stored : 0;
  d.traffic.load_dram = loaded > 0 ? from_dram / loaded : 0;
  d.traffic.load_l2 = loaded > 0 ? std::min(1 - d.traffic.load_dram, flow.l2_bytes / loaded) : 0;
  d.traffic.l2_pending_hit = loaded > 0 ? std::min(1.0, flow.shared_bytes / loaded) : 0;
  d.traffic.load_l2 += d.traffic.l2_pending_hit;
  const double warps = static_cast<double>(shape.blocks_per_sm) * shape.warps_per_block;
  // Each spilled register that the loop stores or reloads is another one; the rest of the stack lies still.
  const double spilled =
      std::min(static_cast<double>(program.local_bytes),
               std::max(program.bytes(Pipe::local_load), program.bytes(Pipe::local_store))) *
      warp_lanes * warps;
  const double l1 = std::max(1.0, static_cast<double>(shape.l1_bytes) - p.l1_reserved_bytes);
  if (shape.l1_bytes > 0) d.traffic.l1_lines = std::max<std::size_t>(1, std::lround(l1 / line_bytes));
  d.traffic.l2_bytes =
      fact("l2_share") * static_cast<double>(device.l2_bytes) / std::min(device.sm.sm_count, shape.grid_size);
  const double sets = flow.set_of == Sharer::warp    ? warps
                      : flow.set_of == Sharer::block ? shape.blocks_per_sm
                                                     : 1;  // of an SM
  const double set = sets * static_cast<double>(facts.working_set_bytes);
  // Copies are of what many SMs read; spilled registers beside nothing of that kind have all of the L2.
  const double l2 =
      (set > 0 || flow.reused_bytes > 0 ? fact("l2_share") : 1) * static_cast<double>(device.l2_bytes);
  // What all SMs together want the L2 to hold: blocks' own sets are sized to fit it.
  const double wanted = flow.set_of == Sharer::warp
                            ? (set + spilled) * device.sm.sm_count
                            : (flow.set_of == Sharer::block ? 0 : set) + spilled * device.sm.sm_count;
  const double in_l2 = wanted > 0 ? std::min(1.0, l2 / wanted) : 1;
  if (flow.reused_bytes > 0 && program.same_bytes() > 0 && flow.set_of == Sharer::device) {
    const double parts =
        static_cast<double>(facts.working_set_bytes) / (program.same_bytes() * flow.layout.lanes);
    d.traffic.same_parts = static_cast<int>(std::clamp<double>(parts, 1, shape.warps_per_block));
  } else if (flow.reused_bytes > 0 && loaded > 0) {
    const double share = std::min(1.0, flow.reused_bytes / loaded);
    // What a block's warps reuse of each other's the L1 lacks once for all of them: beyond the block's edges,
    // it has that once the first of its warps asked. One in as many of these reads as the block has warps.
    const double neighbours = std::min(1.0, flow.neighbour_bytes / flow.reused_bytes);
    const double elsewhere = neighbours / shape.warps_per_block;
    const double missed = share * (1 - kept(set + spilled, l1) * (1 - elsewhere));
    d.traffic.load_l2 += missed * in_l2;
    d.traffic.load_dram += missed * (1 - in_l2);
  }
  if (flow.set_of == Sharer::block && set > l1) d.traffic.set_bytes = facts.working_set_bytes;
  d.spill_lines = spilled / line_bytes;
  const double places = warps * program.places();
  if (stored > 0 && program.bytes(Pipe::global_store) <= 4.0 * program.places())
    d.dram.narrow = share_of_closed_pages(places * device.sm.sm_count);
  // A reload is mostly the last use of its line, which makes room: beside no other data, what fits stays.
  // What streams through the L1 between a store and its reload, half a trip on average, pushes out as much.
  if (spilled > 0) {
    const double streamed =
        (d.traffic.load_dram + d.traffic.load_l2) * program.bytes(Pipe::global_load) * warp_lanes * warps;
    d.traffic.local_l1 =
        set > 0 ? kept(set + spilled, l1) : std::clamp((l1 - streamed / 2) / spilled, 0.0, 1.0);
  }
  d.traffic.local_l2 = in_l2;
  d.traffic.barrier_groups = flow.barrier_groups;
  d.traffic.uneven = facts.uneven;
  d.traffic.in_order = std::lround(static_cast<double>(shape.iterations) / program.iterations) <= 1;
  d.traffic.layout = flow.layout;
  if (const int copies = program.count(Pipe::bulk_load); copies > 0 && facts.dram_bytes > 0) {
    d.traffic.bulk_bytes = facts.dram_bytes * warp_lanes * program.iterations / copies;
    d.traffic.copies_ahead = facts.stages;
  }
  return d;
}

Machine machine_of(const Demand& demand, const DeviceSpec& device, const Parameters& p, double clock,
                   int active_sms) {
  const auto per_cycle = [&](double per_s) { return per_s / clock / active_sms; };
  Machine m;
  m.fma_halves =
      std::max(1, device.fp32_lanes_per_sm / static_cast<int>(lanes_of_all / fact("fma_interval")));
  m.alu_cycles = std::round(p.alu_interval_cycles);
  m.fp64_cycles = lanes_of_all / (device.fp64_lanes_per_sm > 0 ? device.fp64_lanes_per_sm : 2);
  m.mma_cycles = p.mma_interval_cycles;
  constexpr double column_fma = 64 * 16;  // of a wgmma m64nNk16
  m.warpgroup_cycles_per_column =
      device.tensor_bf16_fma_per_sm > 0 ? column_fma / device.tensor_bf16_fma_per_sm : 1;
  // Three registers of two banks take one and a half times as long as one of one bank.
  m.bank_cycles = std::round(p.operand_interval_cycles / 1.5);
  m.branch_cycles = std::round(p.branch_cycles);
  m.barrier_cycles = std::round(p.barrier_cycles);
  m.arrival_cycles = p.barrier_arrival_cycles;
  m.release_cycles = p.barrier_release_cycles;
  m.register_release_cycles = p.barrier_register_cycles;
  m.shared_latency = std::round(p.shared_latency_cycles);
  if (p.shared_bytes_per_cycle > 0) m.shared_bytes = p.shared_bytes_per_cycle;

  m.l1_latency = std::round(p.l1_latency_cycles);
  m.l1_bytes = p.l1_bytes_per_cycle;
  m.port_bytes = p.sm_port_bytes_per_cycle;
  m.l2_latency = p.l2_latency_cycles;
  m.l2_bytes = std::min(p.sm_port_bytes_per_cycle, per_cycle(p.l2_bytes_per_s));
  m.spill_store_bytes =
      std::min(p.sm_port_bytes_per_cycle, per_cycle(spill_store_bytes_per_s(p, demand.spill_lines)));
  if (p.spill_store_bytes_per_s > 0) m.spill_fill_bytes = per_cycle(p.spill_store_bytes_per_s);
  set_dram(m, p, clock, std::min(p.sm_port_bytes_per_cycle, per_cycle(dram_bytes_per_s(p, demand.dram))));
  m.turnover_cycles = p.block_turnover_cycles;
  if (p.block_starts_per_s > 0) m.start_cycles = active_sms * clock / p.block_starts_per_s;
  return m;
}

}  // namespace occbench::theory
