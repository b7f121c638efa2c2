// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/plan.hpp"

#include <algorithm>
#include <cmath>

#include "harness/device/machine_code.hpp"

namespace occbench {

namespace {

// DRAM latency under load; only sizes the work, so a factor of 2 does no harm (idle it is half of this).
constexpr double dram_latency_s = 0.8e-6;

constexpr const char* too_large = "its data does not fit the device memory set aside for this run";

Case& refuse(Case& c, Status status, std::string reason) {
  c.status = status;
  c.reason = std::move(reason);
  return c;
}

/// Why a register cap asks nothing of this kernel, or nothing. One above what the kernel uses may still
/// change it: what its __launch_bounds__ hold down then takes more.
std::string idle_cap(const Variant& capped) {
  const auto base = std::ranges::find_if(
      variants(), [&](const Variant& v) { return v.family == capped.family && v.name == capped.baseline; });
  if (base == variants().end()) return "";
  const EntryAttributes free = entry_attributes(base->entry), own = entry_attributes(capped.entry);
  if (own.registers_per_thread != free.registers_per_thread || own.local_bytes != free.local_bytes) return "";
  const std::string registers = std::to_string(free.registers_per_thread) + " registers";
  return (free.registers_per_thread <= capped.dials.register_cap
              ? "its " + registers + " are within this cap: the code is "
              : "the compiler leaves it its " + registers + ": the code is ") +
         base->name + "'s";
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::valid:
      return "valid";
    case Status::noisy:
      return "noisy";
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
  if (grid_size > 0) text += ".g" + std::to_string(grid_size);
  if (cluster_size > 1) text += ".k" + std::to_string(cluster_size);
  if (block_s > 0) text += ".t" + std::to_string(std::llround(block_s * 1e6)) + "us";
  return text;
}

double ceiling_rate(Ceiling ceiling, const Device& device, double clock_hz) {
  const double per_cycle = device.sm.sm_count * clock_hz;
  switch (ceiling) {
    case Ceiling::dram:
      return device.dram_bytes_per_s;
    case Ceiling::l1:
      return device.l1_bytes_per_cycle * per_cycle;
    case Ceiling::shared_memory:
      return device.smem_bytes_per_cycle * per_cycle;
    case Ceiling::fp32:
      return 2 * device.fp32_lanes_per_sm * per_cycle;
    case Ceiling::fp64:
      return 2 * device.fp64_lanes_per_sm * per_cycle;
    case Ceiling::tensor_bf16:
      return 2 * device.tensor_bf16_fma_per_sm * per_cycle;
    case Ceiling::issue:
      return 4 * device.sm.warp_size * per_cycle;  // four schedulers, one warp instruction each a cycle
    case Ceiling::none:
      break;
  }
  return 0;
}

std::int64_t iterations_for(const Variant& variant, std::size_t local_bytes, const Device& device,
                            int warps_per_sm, double target_s) {
  const LoopIteration& p = variant.iteration;
  const double clock = device.sm_clock_max_hz;
  const double threads = warps_per_sm * 32.0 * device.sm.sm_count;
  // A spilled value that the iteration works on is loaded and stored each time, about two cycles of the pipe each.
  const double spilled_in_use = std::max(0.0, static_cast<double>(local_bytes) / 4 - p.idle_values);
  const auto over = [](double work, double rate) { return rate > 0 ? work / rate : 0; };  // 0: not known
  const Ceiling arithmetic = unit_of(variant.ceiling) == Unit::flop ? variant.ceiling : Ceiling::fp32;
  const double iteration_s = std::max({p.latency_cycles / clock + p.dram_waits * dram_latency_s,
                                       over(threads * p.dram_bytes, device.dram_bytes_per_s),
                                       over(threads * p.flop, ceiling_rate(arithmetic, device, clock)),
                                       warps_per_sm * (p.pipe_cycles_per_warp + 4 * spilled_in_use) / clock});
  return std::max<std::int64_t>(1, std::llround(target_s / iteration_s));
}

Case resolve(const CaseSpec& spec, const Device& device, const Arena& arena, double target_s) {
  Case c;
  c.spec = spec;
  const Variant& v = *spec.variant;
  if (c.spec.block_size == 0) c.spec.block_size = v.fixed_block_size;
  c.id = c.spec.id();
  c.is_modelled = device.is_model;
  const std::size_t own_smem = v.dynamic_smem_bytes ? v.dynamic_smem_bytes(c.spec.block_size) : 0;

  c.footprint = {.block_size = c.spec.block_size,
                 .registers_per_thread = 0,
                 .static_smem_bytes = 0,
                 .dynamic_smem_bytes = own_smem + spec.ballast_bytes,
                 .barriers = v.dials.barriers,
                 .carveout_percent = spec.carveout_percent,
                 .max_block_size = device.sm.max_threads_per_block};
  c.launch.cluster_size = spec.cluster_size;
  const int cc = device.cc();
  if (!runs_on(v, cc))
    return refuse(c, Status::skipped,
                  "needs compute capability " + std::to_string(v.least_cc / 10) + "." +
                      std::to_string(v.least_cc % 10) + (v.only_this_cc ? " and no other" : " or later") +
                      "; this device has " + device.compute_capability());
  if (spec.cluster_size > 1 && device.max_blocks_per_cluster == 0)
    return refuse(c, Status::skipped, "clusters need compute capability 9.0 or later");
  if (v.largest_block_size != 0 && c.spec.block_size > v.largest_block_size)
    return refuse(
        c, Status::impossible,
        "this variant takes blocks of " + std::to_string(v.largest_block_size) + " threads at most");
  if (v.fixed_block_size != 0 && c.spec.block_size != v.fixed_block_size)
    return refuse(
        c, Status::impossible,
        "this variant is compiled for blocks of " + std::to_string(v.fixed_block_size) + " threads");
  if (v.promised_threads > device.sm.max_threads_per_sm)
    return refuse(c, Status::impossible,
                  "its __launch_bounds__ asks for " + std::to_string(v.promised_threads) +
                      " threads on an SM that holds " + std::to_string(device.sm.max_threads_per_sm));
  if (v.user_kernel && device.is_model)
    return refuse(c, Status::skipped,
                  "the model knows kernels of described machine code, and not one with arguments of its own");
  try {
    if (v.user_kernel && v.dials.register_cap > 0)
      if (std::string idle = idle_cap(v); !idle.empty()) return refuse(c, Status::skipped, std::move(idle));
    const std::optional<EntryAttributes> attributes =
        device.is_model ? described_attributes(v, cc) : std::optional(entry_attributes(v.entry));
    if (!attributes)
      return refuse(c, Status::skipped,
                    "no description of its machine code; `occbench audit --describe` writes it");
    c.attributes = *attributes;
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
              .block_size = c.spec.block_size,
              .dynamic_smem_bytes = c.footprint.dynamic_smem_bytes,
              .carveout_percent = spec.carveout_percent,
              .cluster_size = spec.cluster_size};
  c.wave_blocks = c.occupancy.blocks_per_sm * device.sm.sm_count;
  if (spec.cluster_size > 1) {
    if (device.is_model)
      return refuse(c, Status::skipped,
                    "how many clusters of " + std::to_string(spec.cluster_size) +
                        " the device holds, only a device that is here can say");
    try {
      c.active_clusters = api_active_clusters(c.launch);
    } catch (const CudaError& e) {
      if (e.context_lost()) throw;
      return refuse(c, Status::impossible, std::string("the device takes no such cluster: ") + e.what());
    }
    c.wave_blocks = c.active_clusters * spec.cluster_size;
    if (c.active_clusters == 0)
      return refuse(c, Status::impossible,
                    "no cluster of " + std::to_string(spec.cluster_size) + " such blocks fits the device");
  }
  c.launch.grid_size = spec.grid_size > 0 ? spec.grid_size
                       : v.grid_size      ? v.grid_size(c.spec.block_size)
                                          : c.wave_blocks * spec.waves;
  if (v.user_kernel) {
    c.iterations = 1;
    if (v.max_iterations && v.max_iterations(arena, c.shape(1)) < 1)
      return refuse(c, Status::skipped, too_large);
    return c;
  }
  const double block_s = spec.block_s > 0 ? spec.block_s : target_s / spec.waves;
  c.iterations = iterations_for(v, c.attributes.local_bytes, device, c.occupancy.warps_per_sm, block_s);
  // The census launches two waves at half the iterations, so it never needs more memory than the timed
  // launch; two iterations at twice the grid is the least that must fit.
  const std::int64_t most = v.max_iterations ? v.max_iterations(arena, c.shape(0)) : c.iterations;
  const std::int64_t least =
      std::max<std::int64_t>(spec.block_s > 0 ? 1 : 4, v.max_iterations ? v.check_iterations : 0);
  if (v.max_iterations && most < least) return refuse(c, Status::skipped, too_large);
  c.iterations = std::max<std::int64_t>(spec.block_s > 0 ? 1 : 4, std::min(c.iterations, most));
  return c;
}

void add_forecasts(std::span<Case> cases, const Predictor& predictor) {
  std::vector<Case> launchable;
  for (const Case& c : cases)
    if (c.status == Status::valid) launchable.push_back(c);
  const std::vector<Forecast> forecasts = predictor(launchable);
  auto forecast = forecasts.begin();
  for (Case& c : cases)
    if (c.status == Status::valid) c.forecast = *forecast++;
}

}  // namespace occbench
