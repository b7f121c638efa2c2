// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/demand.hpp"

#include <algorithm>
#include <cmath>

namespace occbench::theory {

namespace {

constexpr double line_bytes = fact("line_bytes");
constexpr double warp_lanes = fact("warp_lanes");
constexpr double issued_lanes = fact("schedulers") * warp_lanes;  // one warp instruction of each scheduler

/// Hit rate of a cache with random replacement under repeated sweeps: h = exp(-(1 - h) n / c).
double sweep_hit_rate(double set_bytes, double cache_bytes) {
  if (set_bytes <= cache_bytes) return 1;
  double hit = 0;
  for (int i = 0; i < 50; ++i) hit = std::exp(-(1 - hit) * set_bytes / cache_bytes);
  return hit;
}

/// Bandwidth of all SMs for spill stores when each SM stores to `lines` lines repeatedly. Lines are spread
/// over the L2 banks at random and the fullest bank limits the rate: its excess over the mean falls with the
/// square root of the number of lines.
double spill_store_bandwidth(const Parameters& p, double lines) {
  constexpr double few_lines = 128, many_lines = 1024;  // per SM, as measured by `occbench calibrate`
  const double many = 1 / p.spill_store_bytes_per_s;
  if (p.spill_store_8_warps_bytes_per_s == 0 || lines == 0) return p.spill_store_bytes_per_s;
  const double few = 1 / p.spill_store_8_warps_bytes_per_s;
  const double slope = std::max(0.0, few - many) / (1 / std::sqrt(few_lines) - 1 / std::sqrt(many_lines));
  return 1 / std::max(many / 2, many + slope * (1 / std::sqrt(lines) - 1 / std::sqrt(many_lines)));
}

/// Computes a Demand; bytes are per lane and iteration, or of one SM.
class DemandOfLoop {
 public:
  DemandOfLoop(const Program& program, const LoopFacts& facts, const Shape& shape, const DeviceSpec& device,
               const Parameters& p)
      : program_(program),
        facts_(facts),
        flow_(facts.flow),
        shape_(shape),
        device_(device),
        loaded_bytes_((program.bytes(Pipe::global_load) + program.bytes(Pipe::async_load)) /
                      program.iterations),
        stored_bytes_(program.bytes(Pipe::global_store) / program.iterations),
        warps_(static_cast<double>(shape.blocks_per_sm) * shape.warps_per_block),
        spilled_bytes_(spilled_bytes()),
        set_bytes_(set_bytes()),
        l1_bytes_(std::max(1.0, static_cast<double>(shape.l1_bytes) - p.l1_reserved_bytes)),
        l2_hit_rate_(l2_hit_rate()) {
    split_dram_traffic();
    set_caches();
    set_reuse();
    set_stores();
    set_spills();
    set_order();
    set_copies();
  }

  [[nodiscard]] const Demand& demand() const { return d_; }

 private:
  /// The loop touches each spilled register once per trip; the rest of the stack stays unused.
  [[nodiscard]] double spilled_bytes() const {
    return std::min(static_cast<double>(program_.local_bytes),
                    std::max(program_.bytes(Pipe::local_load), program_.bytes(Pipe::local_store))) *
           warp_lanes * warps_;
  }

  /// The total size of all working sets on an SM.
  [[nodiscard]] double set_bytes() const {
    const double sets = flow_.set_of == Sharer::warp    ? warps_
                        : flow_.set_of == Sharer::block ? shape_.blocks_per_sm
                                                        : 1;
    return sets * static_cast<double>(facts_.working_set_bytes);
  }

  /// Lines read by many SMs have copies in the L2's far half. Sets of blocks are sized to fit the L2.
  [[nodiscard]] double l2_hit_rate() const {
    const bool has_copies = set_bytes_ > 0 || flow_.reused_bytes > 0;
    const double l2 = (has_copies ? fact("l2_share") : 1) * static_cast<double>(device_.l2_bytes);
    const double needed = flow_.set_of == Sharer::warp ? (set_bytes_ + spilled_bytes_) * device_.sm.sm_count
                                                       : (flow_.set_of == Sharer::block ? 0 : set_bytes_) +
                                                             spilled_bytes_ * device_.sm.sm_count;
    return needed > 0 ? std::min(1.0, l2 / needed) : 1;
  }

  void split_dram_traffic() {
    const double to_dram = std::min(stored_bytes_, facts_.dram_bytes);
    const double from_dram = std::min(loaded_bytes_, facts_.dram_bytes - to_dram);
    if (facts_.dram_bytes > 0) {
      d_.traffic.epilogue_bytes = facts_.epilogue_bytes;
      const double epilogue =
          facts_.epilogue_bytes / static_cast<double>(std::max<std::int64_t>(shape_.iterations, 1));
      d_.dram.written = (to_dram + epilogue) / (facts_.dram_bytes + epilogue);
    }
    d_.traffic.store_dram = stored_bytes_ > 0 ? to_dram / stored_bytes_ : 0;
    d_.traffic.load_dram = loaded_bytes_ > 0 ? from_dram / loaded_bytes_ : 0;
    d_.traffic.load_l2 =
        loaded_bytes_ > 0 ? std::min(1 - d_.traffic.load_dram, flow_.l2_bytes / loaded_bytes_) : 0;
    d_.traffic.l2_pending_hit = loaded_bytes_ > 0 ? std::min(1.0, flow_.shared_bytes / loaded_bytes_) : 0;
    d_.traffic.load_l2 += d_.traffic.l2_pending_hit;
  }

  void set_caches() {
    if (shape_.l1_bytes > 0)
      d_.traffic.l1_lines = std::max<std::size_t>(1, std::lround(l1_bytes_ / line_bytes));
    d_.traffic.l2_stream_bytes = fact("l2_share") * static_cast<double>(device_.l2_bytes) /
                                 std::min(device_.sm.sm_count, shape_.grid_size);
  }

  void set_reuse() {
    if (flow_.set_of == Sharer::block && set_bytes_ > l1_bytes_)
      d_.traffic.set_bytes = facts_.working_set_bytes;
    if (flow_.reused_bytes <= 0) return;
    if (program_.same_address_bytes() > 0 && flow_.set_of == Sharer::device) {
      const double parts = static_cast<double>(facts_.working_set_bytes) /
                           (program_.same_address_bytes() * flow_.layout.lanes);
      d_.traffic.reuse_parts = static_cast<int>(std::clamp<double>(parts, 1, shape_.warps_per_block));
    } else if (loaded_bytes_ > 0) {
      const double share = std::min(1.0, flow_.reused_bytes / loaded_bytes_);
      // If the warps of a block share data, the first warp's load misses and the others hit.
      const double shared = std::min(1.0, flow_.neighbour_bytes / flow_.reused_bytes);
      const double first_misses = shared / shape_.warps_per_block;
      const double missed =
          share * (1 - sweep_hit_rate(set_bytes_ + spilled_bytes_, l1_bytes_) * (1 - first_misses));
      d_.traffic.load_l2 += missed * l2_hit_rate_;
      d_.traffic.load_dram += missed * (1 - l2_hit_rate_);
    }
  }

  void set_stores() {
    const double places = warps_ * program_.store_places();
    if (stored_bytes_ > 0 && program_.bytes(Pipe::global_store) <= 4.0 * program_.store_places())
      d_.dram.narrow = share_of_closed_pages(places * device_.sm.sm_count);
  }

  /// A reload is usually the last use of its line, so without other data everything that fits stays in the
  /// L1. On average, half of a trip's streamed data is loaded between a spill and its reload.
  void set_spills() {
    d_.spill_lines = spilled_bytes_ / line_bytes;
    d_.traffic.local_l2 = l2_hit_rate_;
    if (spilled_bytes_ <= 0) return;
    const double streamed =
        (d_.traffic.load_dram + d_.traffic.load_l2) * program_.bytes(Pipe::global_load) * warp_lanes * warps_;
    d_.traffic.local_l1 = set_bytes_ > 0 ? sweep_hit_rate(set_bytes_ + spilled_bytes_, l1_bytes_)
                                         : std::clamp((l1_bytes_ - streamed / 2) / spilled_bytes_, 0.0, 1.0);
  }

  void set_order() {
    d_.traffic.barrier_groups = flow_.barrier_groups;
    d_.traffic.uneven = facts_.uneven;
    d_.traffic.in_order = std::lround(static_cast<double>(shape_.iterations) / program_.iterations) <= 1;
    d_.traffic.layout = flow_.layout;
  }

  void set_copies() {
    const int copies = program_.count(Pipe::bulk_load);
    if (copies == 0 || facts_.dram_bytes <= 0) return;
    d_.traffic.bulk_bytes = facts_.dram_bytes * warp_lanes * program_.iterations / copies;
    d_.traffic.copies_ahead = facts_.stages;
  }

  const Program& program_;
  const LoopFacts& facts_;
  const Flow& flow_;
  const Shape& shape_;
  const DeviceSpec& device_;
  double loaded_bytes_, stored_bytes_;
  double warps_;  ///< resident on an SM
  double spilled_bytes_;
  double set_bytes_;
  double l1_bytes_;
  double l2_hit_rate_;
  Demand d_;
};

}  // namespace

Demand demand_of(const Program& program, const LoopFacts& facts, const Shape& shape, const DeviceSpec& device,
                 const Parameters& p) {
  return DemandOfLoop(program, facts, shape, device, p).demand();
}

Machine machine_of(const Demand& demand, const DeviceSpec& device, const Parameters& p, double clock_hz,
                   int active_sms) {
  const auto per_cycle = [&](double per_s) { return per_s / clock_hz / active_sms; };
  Machine m;
  m.fma_halves =
      std::max(1, device.fp32_lanes_per_sm / static_cast<int>(issued_lanes / fact("fma_interval")));
  m.alu_cycles = std::round(p.alu_interval_cycles);
  m.fp64_cycles = issued_lanes / (device.fp64_lanes_per_sm > 0 ? device.fp64_lanes_per_sm : 2);
  m.mma_cycles = p.mma_interval_cycles;
  constexpr double column_fma = 64 * 16;  // of a wgmma m64nNk16
  m.warpgroup_cycles_per_column =
      device.tensor_bf16_fma_per_sm > 0 ? column_fma / device.tensor_bf16_fma_per_sm : 1;
  // Three registers in two banks take 1.5 times as long as one register.
  m.bank_cycles = std::round(p.operand_interval_cycles / 1.5);
  m.branch_cycles = std::round(p.branch_cycles);
  m.barrier_cycles = std::round(p.barrier_cycles);
  m.arrival_cycles = p.barrier_arrival_cycles;
  m.release_cycles = p.barrier_release_cycles;
  m.register_release_cycles = p.barrier_register_cycles;
  m.shared_latency = std::round(p.shared_latency_cycles);
  if (p.shared_bytes_per_cycle > 0) m.shared_bytes_per_cycle = p.shared_bytes_per_cycle;

  m.l1_latency = std::round(p.l1_latency_cycles);
  m.l1_bytes_per_cycle = p.l1_bytes_per_cycle;
  m.port_bytes_per_cycle = p.sm_port_bytes_per_cycle;
  m.l2_latency = p.l2_latency_cycles;
  m.l2_bytes_per_cycle = std::min(p.sm_port_bytes_per_cycle, per_cycle(p.l2_bytes_per_s));
  m.spill_store_bytes_per_cycle =
      std::min(p.sm_port_bytes_per_cycle, per_cycle(spill_store_bandwidth(p, demand.spill_lines)));
  if (p.spill_store_bytes_per_s > 0) m.spill_fill_bytes_per_cycle = per_cycle(p.spill_store_bytes_per_s);
  set_dram(m, p, clock_hz, std::min(p.sm_port_bytes_per_cycle, per_cycle(dram_bandwidth(p, demand.dram))));
  m.turnover_cycles = p.block_turnover_cycles;
  if (p.block_starts_per_s > 0) m.start_cycles = active_sms * clock_hz / p.block_starts_per_s;
  return m;
}

}  // namespace occbench::theory
