// SPDX-License-Identifier: Apache-2.0
#include "harness/plan.hpp"

#include <algorithm>
#include <cmath>

namespace occbench {

namespace {

// DRAM latency under load; only sizes the work, so a factor of 2 does no harm (idle it is half of this).
constexpr double dram_latency_s = 0.8e-6;

Case& refuse(Case& c, Status status, std::string reason) {
  c.status = status;
  c.reason = std::move(reason);
  return c;
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::valid:
      return "valid";
    case Status::invalid:
      return "invalid";
    case Status::impossible:
      return "impossible";
    case Status::skipped:
      break;
  }
  return "skipped";
}

std::string CaseSpec::id() const {
  std::string text =
      experiment + "." + variant->family + "." + variant->name + ".b" + std::to_string(block_size);
  if (resident_blocks > 0) text += ".r" + std::to_string(resident_blocks);
  if (ballast_bytes > 0) text += ".s" + std::to_string(ballast_bytes);
  if (carveout_percent != 100) text += ".c" + std::to_string(carveout_percent);
  if (waves != 1) text += ".w" + std::to_string(waves);
  return text;
}

std::int64_t passes_for(const Variant& variant, std::size_t local_bytes, const Device& device,
                        int warps_per_sm, double target_s) {
  const Pass& p = variant.pass;
  const double clock = device.sm_clock_max_hz;
  const double threads = warps_per_sm * 32.0 * device.sm.sm_count;
  const int lanes = variant.ceiling == Ceiling::fp64 ? device.fp64_lanes_per_sm : device.fp32_lanes_per_sm;
  // A spilled value that the pass works on is loaded and stored each time, about two cycles of the pipe each.
  const double spilled_in_use = std::max(0.0, static_cast<double>(local_bytes) / 4 - p.idle_values);
  const auto over = [](double work, double rate) { return rate > 0 ? work / rate : 0; };  // 0: not known
  const double pass_s = std::max({p.latency_cycles / clock + (p.waits_for_dram ? dram_latency_s : 0),
                                  over(threads * p.dram_bytes, device.dram_bytes_per_s),
                                  over(threads * p.flop, device.peak_flop_per_s(lanes, clock)),
                                  warps_per_sm * (p.lsu_cycles_per_warp + 4 * spilled_in_use) / clock});
  return std::max<std::int64_t>(1, std::llround(target_s / pass_s));
}

Case resolve(const CaseSpec& spec, const Device& device, const Arena& arena, double target_s) {
  Case c;
  c.spec = spec;
  const Variant& v = *spec.variant;
  if (c.spec.block_size == 0) c.spec.block_size = v.fixed_block_size;
  c.id = c.spec.id();
  const std::size_t own_smem = v.dynamic_smem_bytes ? v.dynamic_smem_bytes() : 0;

  c.footprint = {.block_size = c.spec.block_size,
                 .registers_per_thread = 0,
                 .static_smem_bytes = 0,
                 .dynamic_smem_bytes = own_smem + spec.ballast_bytes,
                 .barriers = v.dials.barriers,
                 .carveout_percent = spec.carveout_percent,
                 .max_block_size = device.sm.max_threads_per_block};
  if (v.fixed_block_size != 0 && c.spec.block_size != v.fixed_block_size)
    return refuse(
        c, Status::impossible,
        "this variant is compiled for blocks of " + std::to_string(v.fixed_block_size) + " threads");
  if (v.promised_threads > device.sm.max_threads_per_sm)
    return refuse(c, Status::impossible,
                  "its __launch_bounds__ asks for " + std::to_string(v.promised_threads) +
                      " threads on an SM that holds " + std::to_string(device.sm.max_threads_per_sm));
  try {
    c.attributes = entry_attributes(v.entry);
  } catch (const CudaError& e) {
    if (e.context_lost()) throw;
    return refuse(c, Status::skipped, std::string("no machine code for this device: ") + e.what());
  }
  c.footprint.registers_per_thread = c.attributes.registers_per_thread;
  c.footprint.static_smem_bytes = c.attributes.static_smem_bytes;
  c.footprint.max_block_size = c.attributes.max_block_size;

  c.occupancy = theory::occupancy(device.sm, c.footprint);
  c.occupancy_textbook = theory::textbook_occupancy(device.sm, c.footprint);
  if (!c.occupancy.launchable()) return refuse(c, Status::impossible, c.occupancy.unlaunchable);
  if (spec.resident_blocks > 0) {
    const auto ballast = theory::ballast_for_blocks(device.sm, c.footprint, spec.resident_blocks);
    if (!ballast) {
      const int most = c.occupancy.blocks_per_sm;
      return refuse(c, Status::impossible,
                    spec.resident_blocks > most
                        ? "at most " + std::to_string(most) + " blocks fit an SM (" +
                              theory::to_string(c.occupancy.limiters) + ")"
                        : "no amount of shared memory leaves exactly " +
                              std::to_string(spec.resident_blocks) + " blocks on an SM");
    }
    c.footprint.dynamic_smem_bytes = *ballast;
    c.occupancy = theory::occupancy(device.sm, c.footprint);
    c.occupancy_textbook = theory::textbook_occupancy(device.sm, c.footprint);
  }
  c.launch = {.entry = v.entry,
              .grid_size = c.occupancy.blocks_per_sm * device.sm.sm_count * spec.waves,
              .block_size = c.spec.block_size,
              .dynamic_smem_bytes = c.footprint.dynamic_smem_bytes,
              .carveout_percent = spec.carveout_percent};
  c.iterations =
      passes_for(v, c.attributes.local_bytes, device, c.occupancy.warps_per_sm, target_s / spec.waves);
  // The census launches twice the grid at half the passes, so it never needs more memory than the timed
  // launch; two passes at twice the grid is the least that must fit.
  const std::int64_t most = v.max_iterations ? v.max_iterations(arena, c.shape(0)) : c.iterations;
  if (most < 4)
    return refuse(c, Status::skipped, "its data does not fit the device memory set aside for this run");
  c.iterations = std::clamp<std::int64_t>(c.iterations, 4, most);
  return c;
}

}  // namespace occbench
