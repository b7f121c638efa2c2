// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/plan.hpp"

#include <algorithm>
#include <cmath>

#include "harness/device/machine_code.hpp"

namespace occbench {

namespace {

// DRAM latency under load (idle it is half). It only sizes the work, so a factor of 2 does not matter.
constexpr double dram_latency_s = 0.8e-6;

constexpr const char* too_large = "its data does not fit the device memory of this run";

/// Why a register cap has no effect on this kernel; "" where it has one. A cap above the registers in use may
/// have one: it replaces the kernel's __launch_bounds__.
std::string why_cap_has_no_effect(const Variant& capped) {
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
  if (sm_count > 0) text += ".m" + std::to_string(sm_count);
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
  // A spilled value that the iteration uses is loaded and stored each time, about two pipe cycles each.
  const double spilled_in_use = std::max(0.0, static_cast<double>(local_bytes) / 4 - p.idle_values);
  const auto over = [](double work, double rate) { return rate > 0 ? work / rate : 0; };  // 0: not known
  const Ceiling arithmetic = unit_of(variant.ceiling) == Unit::flop ? variant.ceiling : Ceiling::fp32;
  const double iteration_s = std::max({p.latency_cycles / clock + p.dram_waits * dram_latency_s,
                                       over(threads * p.dram_bytes, device.dram_bytes_per_s),
                                       over(threads * p.flop, ceiling_rate(arithmetic, device, clock)),
                                       warps_per_sm * (p.pipe_cycles_per_warp + 4 * spilled_in_use) / clock});
  return std::max<std::int64_t>(1, std::llround(target_s / iteration_s));
}

namespace {

/// Resolves one spec. Each step returns false if it refuses the case.
class Resolver {
 public:
  Resolver(const CaseSpec& spec, const Device& device, const Arena& arena, double target_s)
      : device_(device), arena_(arena), target_s_(target_s), variant_(*spec.variant) {
    c_.spec = spec;
    if (c_.spec.block_size == 0) c_.spec.block_size = variant_.fixed_block_size;
    c_.id = c_.spec.id();
    c_.is_modelled = device.is_model;
    const std::size_t own_smem =
        variant_.dynamic_smem_bytes ? variant_.dynamic_smem_bytes(c_.spec.block_size) : 0;
    c_.footprint = {.block_size = c_.spec.block_size,
                    .registers_per_thread = 0,
                    .static_smem_bytes = 0,
                    .dynamic_smem_bytes = own_smem + spec.ballast_bytes,
                    .barriers = variant_.dials.barriers,
                    .carveout_percent = spec.carveout_percent,
                    .max_block_size = device.sm.max_threads_per_block};
    c_.launch.cluster_size = spec.cluster_size;
  }

  Case resolve() {
    static_cast<void>(check_device() && check_block_size() && read_attributes() && compute_occupancy() &&
                      add_ballast() && plan_waves() && set_iterations());
    return std::move(c_);
  }

 private:
  bool refuse(Status status, std::string reason) {
    c_.status = status;
    c_.reason = std::move(reason);
    return false;
  }

  bool check_device() {
    const int least = variant_.min_cc;
    if (!runs_on(variant_, device_.cc()))
      return refuse(Status::skipped, "needs compute capability " + std::to_string(least / 10) + "." +
                                         std::to_string(least % 10) +
                                         (variant_.only_this_cc ? " and no other" : " or later") +
                                         "; this device has " + device_.compute_capability());
    if (c_.spec.cluster_size > 1 && device_.max_blocks_per_cluster == 0)
      return refuse(Status::skipped, "clusters need compute capability 9.0 or later");
    return true;
  }

  bool check_block_size() {
    const int block_size = c_.spec.block_size;
    if (variant_.largest_block_size != 0 && block_size > variant_.largest_block_size)
      return refuse(Status::impossible, "this variant takes blocks of " +
                                            std::to_string(variant_.largest_block_size) + " threads at most");
    if (variant_.fixed_block_size != 0 && block_size != variant_.fixed_block_size)
      return refuse(Status::impossible, "this variant is compiled for blocks of " +
                                            std::to_string(variant_.fixed_block_size) + " threads");
    if (variant_.launch_bounds_threads > device_.sm.max_threads_per_sm)
      return refuse(Status::impossible,
                    "its __launch_bounds__ asks for " + std::to_string(variant_.launch_bounds_threads) +
                        " threads on an SM that holds " + std::to_string(device_.sm.max_threads_per_sm));
    return true;
  }

  bool read_attributes() {
    if (variant_.user_kernel && device_.is_model)
      return refuse(Status::skipped,
                    "the model predicts kernels of described machine code, not user kernels");
    try {
      if (variant_.user_kernel && variant_.dials.register_cap > 0)
        if (std::string why = why_cap_has_no_effect(variant_); !why.empty())
          return refuse(Status::skipped, std::move(why));
      const std::optional<EntryAttributes> attributes = device_.is_model
                                                            ? described_attributes(variant_, device_.cc())
                                                            : std::optional(entry_attributes(variant_.entry));
      if (!attributes)
        return refuse(Status::skipped,
                      "no description of its machine code; `occbench audit --describe` writes it");
      c_.attributes = *attributes;
    } catch (const CudaError& e) {
      if (e.context_lost()) throw;
      return refuse(Status::skipped, std::string("no machine code for this device: ") + e.what());
    }
    c_.footprint.registers_per_thread = c_.attributes.registers_per_thread;
    c_.footprint.static_smem_bytes = c_.attributes.static_smem_bytes;
    c_.footprint.max_block_size = c_.attributes.max_block_size;
    return true;
  }

  bool compute_occupancy() {
    c_.occupancy = theory::occupancy(device_.sm, c_.footprint);
    c_.occupancy_textbook = theory::textbook_occupancy(device_.sm, c_.footprint);
    return c_.occupancy.is_launchable() || refuse(Status::impossible, c_.occupancy.launch_error);
  }

  bool add_ballast() {
    const int wanted = c_.spec.resident_blocks;
    if (wanted <= 0) return true;
    const auto ballast = theory::ballast_for_blocks(device_.sm, c_.footprint, wanted);
    if (!ballast) {
      const int most = c_.occupancy.blocks_per_sm;
      return refuse(Status::impossible, wanted > most
                                            ? "at most " + std::to_string(most) + " blocks fit an SM (" +
                                                  theory::to_string(c_.occupancy.limiters) + ")"
                                            : "no amount of shared memory leaves exactly " +
                                                  std::to_string(wanted) + " blocks on an SM");
    }
    c_.footprint.dynamic_smem_bytes = *ballast;
    c_.occupancy = theory::occupancy(device_.sm, c_.footprint);
    c_.occupancy_textbook = theory::textbook_occupancy(device_.sm, c_.footprint);
    return true;
  }

  bool plan_waves() {
    const CaseSpec& spec = c_.spec;
    c_.launch = {.entry = variant_.entry,
                 .block_size = spec.block_size,
                 .dynamic_smem_bytes = c_.footprint.dynamic_smem_bytes,
                 .carveout_percent = spec.carveout_percent,
                 .cluster_size = spec.cluster_size};
    if (!confine()) return false;
    c_.wave_blocks = c_.occupancy.blocks_per_sm * c_.sm_count;
    if (spec.cluster_size > 1 && !count_clusters()) return false;
    c_.launch.grid_size = spec.grid_size > 0   ? spec.grid_size
                          : variant_.grid_size ? variant_.grid_size(spec.block_size)
                                               : c_.wave_blocks * spec.waves;
    return true;
  }

  bool confine() {
    c_.sm_count = device_.sm.sm_count;
    const int wanted = c_.spec.sm_count;
    if (wanted == 0 || wanted == c_.sm_count) return true;
    if (device_.is_model)
      return refuse(Status::skipped, "a share of the SMs needs a real GPU: their placement is not modelled");
    std::string why_none;
    c_.launch.share = SmShare::of(wanted, why_none);
    c_.sm_count = wanted;
    return c_.launch.share != nullptr || refuse(Status::skipped, std::move(why_none));
  }

  bool count_clusters() {
    const std::string size = std::to_string(c_.spec.cluster_size);
    if (device_.is_model)
      return refuse(Status::skipped, "clusters need a real GPU: the maximum is only known at run time");
    try {
      c_.active_clusters = api_active_clusters(c_.launch);
    } catch (const CudaError& e) {
      if (e.context_lost()) throw;
      return refuse(Status::impossible, std::string("the device rejects such a cluster: ") + e.what());
    }
    c_.wave_blocks = c_.active_clusters * c_.spec.cluster_size;
    return c_.active_clusters > 0 ||
           refuse(Status::impossible, "no cluster of " + size + " such blocks fits the device");
  }

  bool set_iterations() {
    if (variant_.user_kernel) {
      c_.iterations = 1;
      const bool fits = !variant_.max_iterations || variant_.max_iterations(arena_, c_.shape(1)) >= 1;
      return fits || refuse(Status::skipped, too_large);
    }
    const bool has_block_time = c_.spec.block_s > 0;
    const double block_s = has_block_time ? c_.spec.block_s : target_s_ / c_.spec.waves;
    c_.iterations =
        iterations_for(variant_, c_.attributes.local_bytes, device_, c_.occupancy.warps_per_sm, block_s);
    // The census launches two waves at half the iterations, so it never needs more memory than the timed
    // launch; two iterations at twice the grid is the least that must fit.
    const std::int64_t least = has_block_time ? 1 : 4;
    const std::int64_t most =
        variant_.max_iterations ? variant_.max_iterations(arena_, c_.shape(0)) : c_.iterations;
    if (variant_.max_iterations && most < std::max(least, variant_.check_iterations))
      return refuse(Status::skipped, too_large);
    c_.iterations = std::max(least, std::min(c_.iterations, most));
    return true;
  }

  const Device& device_;
  const Arena& arena_;
  double target_s_;
  const Variant& variant_;
  Case c_;
};

}  // namespace

Case resolve(const CaseSpec& spec, const Device& device, const Arena& arena, double target_s) {
  return Resolver(spec, device, arena, target_s).resolve();
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
