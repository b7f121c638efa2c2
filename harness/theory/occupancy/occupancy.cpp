// SPDX-License-Identifier: Apache-2.0
// The only file that includes cuda_occupancy.h. All residency figures come from it; this file adds the
// limits checked at launch, the reason for a zero, and protection from integer overflow.
#include "harness/theory/occupancy/occupancy.hpp"

#include <cuda_occupancy.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>

#include "harness/theory/hardware.hpp"
#include "harness/theory/occupancy/search.hpp"

namespace occbench::theory {
namespace {

constexpr int max_registers_per_thread = 255;  // the 256th encoding is RZ, which reads zero
constexpr int max_barriers = 16;               // ids 0 to 15
constexpr std::size_t beyond_any_smem_bytes = std::size_t{1} << 30;

cudaOccDeviceProp properties_of(const SmLimits& sm) {
  cudaOccDeviceProp p;
  p.computeMajor = sm.cc_major;
  p.computeMinor = sm.cc_minor;
  p.maxThreadsPerBlock = sm.max_threads_per_block;
  p.maxThreadsPerMultiprocessor = sm.max_threads_per_sm;
  p.regsPerBlock = sm.registers_per_block;
  p.regsPerMultiprocessor = sm.registers_per_sm;
  p.warpSize = sm.warp_size;
  p.sharedMemPerBlock = sm.smem_per_block_bytes;
  p.sharedMemPerMultiprocessor = sm.smem_per_sm_bytes;
  p.numSms = std::max(sm.sm_count, 1);  // checked, never used
  p.sharedMemPerBlockOptin = sm.smem_per_block_optin_bytes;
  p.reservedSharedMemPerBlock = sm.smem_reserved_per_block_bytes;
  return p;
}

cudaOccDeviceState state_of(const Footprint& footprint) {
  cudaOccDeviceState state;
  state.carveoutConfig = footprint.carveout_percent;
  return state;
}

/// Clamps values that could overflow the header's int arithmetic; a clamped value still fails.
cudaOccFuncAttributes attributes_of(const SmLimits& sm, const Footprint& footprint) {
  cudaOccFuncAttributes a;
  a.maxThreadsPerBlock = std::max(footprint.max_block_size, 1);
  a.numRegs = std::min(footprint.registers_per_thread, max_registers_per_thread + 2);
  a.sharedSizeBytes = std::min(footprint.static_smem_bytes, beyond_any_smem_bytes);
  a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  const std::size_t limit = smem_limit_per_block_bytes(sm);
  a.maxDynamicSharedSizeBytes = limit - std::min(limit, a.sharedSizeBytes);
  a.numBlockBarriers = footprint.barriers;
  a.virtualResourceCount = footprint.virtual_resources;
  return a;
}

struct Residency {
  cudaOccResult result{};
  cudaOccError error = CUDA_OCC_SUCCESS;
};

Residency ask_header(const SmLimits& sm, const Footprint& footprint) {
  const cudaOccDeviceProp properties = properties_of(sm);
  const cudaOccFuncAttributes attributes = attributes_of(sm, footprint);
  const cudaOccDeviceState state = state_of(footprint);
  Residency answer;
  answer.error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &answer.result, &properties, &attributes, &state, std::min(footprint.block_size, 1 << 16),
      std::min(footprint.dynamic_smem_bytes, beyond_any_smem_bytes));
  return answer;
}

/// 79872 -> "79,872".
std::string group_digits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string cc_name(const SmLimits& sm) {
  return std::to_string(sm.cc_major) + "." + std::to_string(sm.cc_minor);
}

/// Why the values are invalid on any device; empty if valid. The header must not be called with invalid
/// values.
std::string invalid_reason(const SmLimits& sm, const Footprint& f) {
  if (f.block_size < 1)
    return "block size " + std::to_string(f.block_size) + ": a block has 1 to " +
           group_digits(sm.max_threads_per_block) + " threads";
  if (f.registers_per_thread < 0)
    return std::to_string(f.registers_per_thread) + " registers per thread: a thread has 0 to 255";
  if (f.barriers < 0 || f.barriers > max_barriers)
    return std::to_string(f.barriers) + " barriers: a block has at most 16 (ids 0 to 15)";
  if (f.carveout_percent < -1 || f.carveout_percent > 100)
    return "carve-out " + std::to_string(f.carveout_percent) +
           " %: it is 0 to 100, or -1 for the driver's choice";
  return {};
}

struct Refusal {
  Limiter resource = Limiter::none;
  std::string why;
};

/// Why a single block exceeds a limit; `why` is empty if none is exceeded.
Refusal refusal(const SmLimits& sm, const Footprint& f, const cudaOccResult& result) {
  const auto text = [](auto... parts) { return (std::string() + ... + parts); };
  if (f.block_size > sm.max_threads_per_block)
    return {Limiter::warps, text("block size ", group_digits(f.block_size), " exceeds the device's ",
                                 group_digits(sm.max_threads_per_block), " threads per block")};
  if (f.block_size > f.max_block_size)
    return {Limiter::warps,
            text("block size ", group_digits(f.block_size), " exceeds the kernel's own limit of ",
                 group_digits(std::max(f.max_block_size, 0)), " threads (launch bounds or registers)")};
  if (f.registers_per_thread > max_registers_per_thread)
    return {Limiter::registers,
            text(group_digits(f.registers_per_thread), " registers per thread: a thread has at most 255")};

  const std::size_t smem_limit = smem_limit_per_block_bytes(sm);
  if (f.static_smem_bytes > sm.smem_per_block_bytes)  // opt-in applies to dynamic shared memory only
    return {Limiter::shared_memory,
            text(group_digits(f.static_smem_bytes), " B of static shared memory exceeds the ",
                 group_digits(sm.smem_per_block_bytes),
                 " B that a kernel may declare; dynamic shared memory has up to ", group_digits(smem_limit),
                 " B on cc ", cc_name(sm))};
  if (f.static_smem_bytes > smem_limit || f.dynamic_smem_bytes > smem_limit - f.static_smem_bytes)
    return {Limiter::shared_memory,
            text(group_digits(f.static_smem_bytes), " B static + ", group_digits(f.dynamic_smem_bytes),
                 " B dynamic shared memory exceeds the ", group_digits(smem_limit),
                 " B a block may have on cc ", cc_name(sm))};
  if (result.blockLimitRegs == 0) {
    // The launch check rounds warps up to a multiple of the four register files (also on cc 6.0, see the
    // header).
    const int warps = warps_per_block(sm, f);
    const int warps_checked = (warps + 3) / 4 * 4;
    const int registers_per_warp = result.allocatedRegistersPerBlock / warps;
    const int needed = warps_checked * registers_per_warp;
    return {Limiter::registers,
            text(group_digits(f.registers_per_thread), " registers x ", group_digits(f.block_size),
                 " threads needs ", std::to_string(warps_checked), " warps",
                 warps_checked > warps ? text(" (", std::to_string(warps), " rounded up to fours)") : "",
                 " of ", group_digits(registers_per_warp), " registers = ", group_digits(needed), " > ",
                 group_digits(sm.registers_per_block), " per block")};
  }
  if (result.activeBlocksPerMultiprocessor == 0)
    return {Limiter::none, "no block of this footprint fits an SM"};
  return {};
}

std::optional<int> finite(int limit) { return limit == INT_MAX ? std::nullopt : std::optional(limit); }

}  // namespace

std::string to_string(Limiter set) {
  constexpr std::pair<Limiter, const char*> names[] = {
      {Limiter::warps, "warps"},         {Limiter::blocks, "blocks"},
      {Limiter::registers, "registers"}, {Limiter::shared_memory, "shared_memory"},
      {Limiter::barriers, "barriers"},   {Limiter::virtual_resources, "virtual_resources"}};
  std::string text;
  for (const auto& [limiter, name] : names)
    if (has(set, limiter)) text += (text.empty() ? "" : "+") + std::string(name);
  return text.empty() ? "none" : text;
}

int warps_per_block(const SmLimits& sm, const Footprint& f) {
  return f.block_size / sm.warp_size + (f.block_size % sm.warp_size > 0);
}

std::size_t smem_limit_per_block_bytes(const SmLimits& sm) {
  return sm.cc_major >= 7 ? std::max(sm.smem_per_block_bytes, sm.smem_per_block_optin_bytes)
                          : sm.smem_per_block_bytes;
}

Occupancy occupancy(const SmLimits& sm, const Footprint& footprint) {
  Occupancy o;
  o.launch_error = invalid_reason(sm, footprint);
  if (!o.is_launchable()) return o;

  const auto [result, error] = ask_header(sm, footprint);
  if (error != CUDA_OCC_SUCCESS) {
    o.launch_error = "compute capability " + cc_name(sm) +
                     ", or its limits as given, is unknown to this toolkit's cuda_occupancy.h";
    return o;
  }
  o.warp_limit = result.blockLimitWarps;
  o.block_limit = result.blockLimitBlocks;
  o.register_limit = finite(result.blockLimitRegs);
  o.smem_limit = finite(result.blockLimitSharedMem);
  o.barrier_limit = finite(result.blockLimitBarriers);
  o.virtual_resource_limit = finite(result.blockLimitVirtual);
  o.allocated_registers_per_block = result.allocatedRegistersPerBlock;
  o.allocated_smem_per_block_bytes = result.allocatedSharedMemPerBlock;

  const std::pair<Limiter, std::optional<int>*> limits[] = {
      {Limiter::warps, &o.warp_limit},         {Limiter::blocks, &o.block_limit},
      {Limiter::registers, &o.register_limit}, {Limiter::shared_memory, &o.smem_limit},
      {Limiter::barriers, &o.barrier_limit},   {Limiter::virtual_resources, &o.virtual_resource_limit}};
  const Refusal refused = refusal(sm, footprint, result);
  o.launch_error = refused.why;
  for (const auto& [limiter, limit] : limits)
    if (has(refused.resource, limiter)) *limit = 0;

  o.blocks_per_sm = o.is_launchable() ? result.activeBlocksPerMultiprocessor : 0;
  o.warps_per_sm = o.blocks_per_sm * warps_per_block(sm, footprint);
  o.fraction = static_cast<double>(o.warps_per_sm) / sm.max_warps_per_sm();
  // Not the header's limitingFactors, which keeps earlier limiters when barriers are the lower limit.
  for (const auto& [limiter, limit] : limits)
    if (*limit == o.blocks_per_sm) o.limiters = o.limiters | limiter;
  return o;
}

std::optional<std::size_t> ballast_for_blocks(const SmLimits& sm, const Footprint& footprint, int blocks) {
  if (blocks < 1) return std::nullopt;
  Footprint f = footprint;
  const auto resident = [&](std::size_t dynamic_bytes) {
    f.dynamic_smem_bytes = dynamic_bytes;
    return occupancy(sm, f).blocks_per_sm;
  };
  // Residency never grows with shared memory.
  const std::size_t bytes = first_true(footprint.dynamic_smem_bytes, smem_limit_per_block_bytes(sm) + 1,
                                       [&](std::size_t b) { return resident(b) <= blocks; });
  return resident(bytes) == blocks ? std::optional(bytes) : std::nullopt;
}

std::size_t smem_capacity_bytes(const SmLimits& sm, const Footprint& footprint) {
  const Residency answer = ask_header(sm, footprint);
  const cudaOccDeviceProp properties = properties_of(sm);
  const cudaOccDeviceState state = state_of(footprint);
  std::size_t preferred = 0;
  if (answer.error != CUDA_OCC_SUCCESS ||
      cudaOccSMemPerMultiprocessor(&preferred, &properties, &state) != CUDA_OCC_SUCCESS)
    return sm.smem_per_sm_bytes;
  const std::size_t one_block = answer.result.allocatedSharedMemPerBlock;
  if (preferred >= one_block) return preferred;
  // A preference below one block is raised to the next size that holds it.
  std::size_t raised = one_block;
  const bool fits =
      sm.cc_major >= 7 && cudaOccAlignUpShmemSizeVoltaPlus(&raised, &properties) == CUDA_OCC_SUCCESS;
  return fits ? raised : sm.smem_per_sm_bytes;
}

std::size_t l1_bytes(const SmLimits& sm, const Footprint& footprint) {
  const double beyond = sm.cc_major < 8 ? fact("l1_beyond_shared_cc7") : fact("l1_beyond_shared");
  const std::size_t whole = sm.smem_per_sm_bytes + static_cast<std::size_t>(beyond);
  return whole - std::min(whole, smem_capacity_bytes(sm, footprint));
}

std::optional<int> potential_block_size(const SmLimits& sm, const Footprint& footprint) {
  const cudaOccDeviceProp properties = properties_of(sm);
  const cudaOccFuncAttributes attributes = attributes_of(sm, footprint);
  const cudaOccDeviceState state = state_of(footprint);
  int blocks = 0;
  int threads = 0;
  const cudaOccError error = cudaOccMaxPotentialOccupancyBlockSize(
      &blocks, &threads, &properties, &attributes, &state, footprint.dynamic_smem_bytes);
  return error == CUDA_OCC_SUCCESS && threads > 0 ? std::optional(threads) : std::nullopt;
}

std::optional<int> barriers_per_sm(const SmLimits& sm) {
  if (sm.cc_major < 9) return std::nullopt;  // not modelled before Hopper
  const cudaOccDeviceProp properties = properties_of(sm);
  const std::optional<int> blocks = max_blocks_per_sm(sm.cc_major, sm.cc_minor);
  cudaOccFuncAttributes one_barrier;
  one_barrier.numBlockBarriers = 1;
  int barriers = 0;
  if (!blocks || cudaOccMaxBlocksPerSMBlockBarrierLimit(&barriers, *blocks, &properties, &one_barrier) !=
                     CUDA_OCC_SUCCESS)
    return std::nullopt;
  return barriers;
}

std::optional<int> max_blocks_per_sm(int cc_major, int cc_minor) {
  cudaOccDeviceProp properties;
  properties.computeMajor = cc_major;
  properties.computeMinor = cc_minor;
  int blocks = 0;
  if (cudaOccMaxBlocksPerMultiprocessor(&blocks, &properties) != CUDA_OCC_SUCCESS) return std::nullopt;
  return blocks;
}

bool needs_opt_in(const SmLimits& sm, const Footprint& f) {
  return f.dynamic_smem_bytes >
         sm.smem_per_block_bytes - std::min(sm.smem_per_block_bytes, f.static_smem_bytes);
}

double textbook_occupancy(const SmLimits& sm, const Footprint& f) {
  const std::int64_t block_size = f.block_size;
  if (block_size < 1 || block_size > sm.max_threads_per_block) return 0;
  const std::int64_t registers = f.registers_per_thread * block_size;
  const std::size_t smem_bytes = f.static_smem_bytes + f.dynamic_smem_bytes;
  std::int64_t blocks = std::min<std::int64_t>(sm.max_threads_per_sm / block_size, sm.max_blocks_per_sm);
  if (registers > 0) blocks = std::min(blocks, sm.registers_per_sm / registers);
  if (smem_bytes > 0) blocks = std::min(blocks, static_cast<std::int64_t>(sm.smem_per_sm_bytes / smem_bytes));
  return static_cast<double>(blocks * block_size) / sm.max_threads_per_sm;
}

}  // namespace occbench::theory
