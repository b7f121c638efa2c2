// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy: the blocks of a footprint that are resident on one SM, and the resource that limits
// them. Pure arithmetic on NVIDIA's host-only cuda_occupancy.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace occbench::theory {

/// Resources of an SM and limits of a block, from cudaDeviceProp or the offline catalogue. Counts are per SM
/// unless the name says per block.
struct SmLimits {
  int cc_major = 0;
  int cc_minor = 0;
  int sm_count = 0;
  int warp_size = 32;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_block = 0;
  int registers_per_sm = 0;
  std::size_t smem_per_block_bytes = 0;        ///< without opting in (48 KiB)
  std::size_t smem_per_block_optin_bytes = 0;  ///< with cudaFuncAttributeMaxDynamicSharedMemorySize
  std::size_t smem_per_sm_bytes = 0;
  std::size_t smem_reserved_per_block_bytes = 0;  ///< taken by the driver from every block (cc 8.0 on)

  [[nodiscard]] int max_warps_per_sm() const { return max_threads_per_sm / warp_size; }
};

/// Resources that one block of a kernel needs.
struct Footprint {
  int block_size = 0;  ///< threads
  int registers_per_thread = 0;
  std::size_t static_smem_bytes = 0;
  std::size_t dynamic_smem_bytes = 0;
  int barriers = 1;           ///< named barriers the machine code reserves (1 to 16)
  int carveout_percent = -1;  ///< cudaFuncAttributePreferredSharedMemoryCarveout; -1 is the driver's choice
  int max_block_size = 1024;  ///< cudaFuncAttributes::maxThreadsPerBlock
  int virtual_resources = 0;  ///< from ptxas's notes for kernels with tensor memory (cc 10.0 on)
};

/// The resources that can limit residency. Values are bits: several may limit at once.
enum class Limiter : unsigned {
  none = 0,
  warps = 1,
  blocks = 2,
  registers = 4,
  shared_memory = 8,
  barriers = 16,
  virtual_resources = 32,
};
constexpr Limiter operator|(Limiter a, Limiter b) {
  return static_cast<Limiter>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Limiter set, Limiter one) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}
/// "registers+shared_memory"; "none" for the empty set.
std::string to_string(Limiter set);

/// Residency of a footprint on one SM. `*_limit`: blocks that the resource alone would allow; nullopt if the
/// footprint does not use it.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;  ///< resident warps, blocks_per_sm x warps per block
  double fraction = 0;   ///< warps_per_sm / max_warps_per_sm
  Limiter limiters = Limiter::none;
  std::optional<int> warp_limit, block_limit, register_limit, smem_limit, barrier_limit,
      virtual_resource_limit;
  int allocated_registers_per_block = 0;
  std::size_t allocated_smem_per_block_bytes = 0;
  std::string launch_error;  ///< one line on why no block can launch; empty if it can

  [[nodiscard]] bool is_launchable() const { return launch_error.empty(); }
};

/// Exact residency, equal to cudaOccupancyMaxActiveBlocksPerMultiprocessor. Never throws: for a footprint
/// that cannot launch, blocks_per_sm is 0 and `launch_error` has the reason.
[[nodiscard]] Occupancy occupancy(const SmLimits& sm, const Footprint& footprint);

/// The smallest dynamic shared memory (bytes), at least footprint.dynamic_smem_bytes, at which exactly
/// `blocks` blocks are resident; nullopt if there is none.
[[nodiscard]] std::optional<std::size_t> ballast_for_blocks(const SmLimits& sm, const Footprint& footprint,
                                                            int blocks);

/// The block size that cudaOccupancyMaxPotentialBlockSize returns, the largest with the highest occupancy;
/// footprint.block_size is ignored. nullopt if none can launch.
[[nodiscard]] std::optional<int> potential_block_size(const SmLimits& sm, const Footprint& footprint);

/// Warps per block, rounded up.
[[nodiscard]] int warps_per_block(const SmLimits& sm, const Footprint& footprint);

/// Static plus dynamic shared memory (bytes) that one block may have after opting in.
[[nodiscard]] std::size_t smem_limit_per_block_bytes(const SmLimits& sm);

/// Whether a launch of this footprint fails unless cudaFuncAttributeMaxDynamicSharedMemorySize was set first.
[[nodiscard]] bool needs_opt_in(const SmLimits& sm, const Footprint& footprint);

/// Shared memory (bytes) of an SM under this footprint's carve-out preference, rounded up to a size that the
/// hardware supports and that holds at least one block.
[[nodiscard]] std::size_t smem_capacity_bytes(const SmLimits& sm, const Footprint& footprint);

/// L1 size (bytes) after the shared-memory carve-out.
[[nodiscard]] std::size_t l1_bytes(const SmLimits& sm, const Footprint& footprint);

/// Hardware barriers of one SM; nullopt before cc 9.0, where cuda_occupancy.h does not count them.
[[nodiscard]] std::optional<int> barriers_per_sm(const SmLimits& sm);

/// Maximum resident blocks of one SM; nullopt for a compute capability that cuda_occupancy.h does not know.
[[nodiscard]] std::optional<int> max_blocks_per_sm(int cc_major, int cc_minor);

/// Occupancy by textbook arithmetic (PMPP 4.7): per-SM resources divided by the block's use, without
/// allocation granularity. Returns a fraction of the maximum threads.
[[nodiscard]] double textbook_occupancy(const SmLimits& sm, const Footprint& footprint);

}  // namespace occbench::theory
