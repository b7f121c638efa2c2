// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy: how many blocks of a footprint one SM can hold, which resource says so,
// and how far the next step is. Pure arithmetic over NVIDIA's host-only cuda_occupancy.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace occbench::theory {

/// What one SM offers, and the allocation limits of one block. Sizes in bytes, counts per SM
/// unless the name says per block. Taken from cudaDeviceProp or from the offline catalogue.
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

/// What one block of a kernel asks of its SM.
struct Footprint {
  int block_size = 0;  ///< threads
  int registers_per_thread = 0;
  std::size_t static_smem_bytes = 0;
  std::size_t dynamic_smem_bytes = 0;
  int barriers = 1;           ///< named barriers the machine code reserves (1 to 16)
  int carveout_percent = -1;  ///< cudaFuncAttributePreferredSharedMemoryCarveout; -1 is the driver's choice
  int max_block_size = 1024;  ///< cudaFuncAttributes::maxThreadsPerBlock
};

/// The resources that can bound residency. Values are bits: several may bind at once.
enum class Limiter : unsigned {
  none = 0,
  warps = 1,
  blocks = 2,
  registers = 4,
  shared_memory = 8,
  barriers = 16,
};
constexpr Limiter operator|(Limiter a, Limiter b) {
  return static_cast<Limiter>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Limiter set, Limiter one) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}
/// "registers+shared_memory"; "none" for the empty set.
std::string to_string(Limiter set);

/// Residency of one footprint on one SM. `*_limit` is the number of blocks that the resource
/// alone would allow; nullopt where the footprint does not draw on it.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;  ///< resident warps, blocks_per_sm x warps per block
  double fraction = 0;   ///< warps_per_sm / max_warps_per_sm
  Limiter limiters = Limiter::none;
  std::optional<int> warp_limit, block_limit, register_limit, smem_limit, barrier_limit;
  int allocated_registers_per_block = 0;
  std::size_t allocated_smem_per_block_bytes = 0;
  std::string unlaunchable;  ///< empty, or one line on why no block of this footprint can launch

  [[nodiscard]] bool launchable() const { return unlaunchable.empty(); }
};

/// Exact residency, equal to cudaOccupancyMaxActiveBlocksPerMultiprocessor. Never throws: a footprint
/// that cannot launch comes back with blocks_per_sm 0 and the reason.
[[nodiscard]] Occupancy occupancy(const SmLimits& sm, const Footprint& footprint);

/// The least dynamic shared memory (bytes) at which exactly `blocks` blocks are resident, all else as
/// in `footprint`; nullopt when no amount gives exactly that many. Never below footprint.dynamic_smem_bytes.
[[nodiscard]] std::optional<std::size_t> ballast_for_blocks(const SmLimits& sm, const Footprint& footprint,
                                                            int blocks);

/// The most dynamic shared memory (bytes) a block may have while at least `blocks` blocks stay resident,
/// after opting in. nullopt when `blocks` is less than 1 or more than fit without any.
[[nodiscard]] std::optional<std::size_t> available_dynamic_smem(const SmLimits& sm,
                                                                const Footprint& footprint, int blocks);

/// The same question as cudaOccupancyAvailableDynamicSMemPerBlock answers it. For two blocks or more that is
/// up to the reserved shared memory too much (CUDA 13.0): a launch with it has fewer blocks than asked for.
[[nodiscard]] std::optional<std::size_t> api_available_dynamic_smem(const SmLimits& sm,
                                                                    const Footprint& footprint, int blocks);

/// The block size that cudaOccupancyMaxPotentialBlockSize picks, all but the footprint's own block size as it
/// is: the largest of those with the highest occupancy. nullopt when none can launch.
[[nodiscard]] std::optional<int> potential_block_size(const SmLimits& sm, const Footprint& footprint);

/// Warps that a block occupies: whole ones, the last perhaps in part.
[[nodiscard]] int warps_per_block(const SmLimits& sm, const Footprint& footprint);

/// Static plus dynamic shared memory (bytes) that one block may have after opting in.
[[nodiscard]] std::size_t smem_limit_per_block_bytes(const SmLimits& sm);

/// Whether a launch of this footprint fails unless cudaFuncAttributeMaxDynamicSharedMemorySize was set first.
[[nodiscard]] bool needs_opt_in(const SmLimits& sm, const Footprint& footprint);

/// Shared memory (bytes) that one SM sets aside for this footprint: the carve-out preference, rounded up to a
/// size the hardware has and raised to hold at least one block.
[[nodiscard]] std::size_t smem_capacity_bytes(const SmLimits& sm, const Footprint& footprint);

/// What the L1 has of the array that it shares with shared memory.
[[nodiscard]] std::size_t l1_bytes(const SmLimits& sm, const Footprint& footprint);

/// Named barriers of one SM; nullopt before cc 9.0, where cuda_occupancy.h does not count them.
[[nodiscard]] std::optional<int> barriers_per_sm(const SmLimits& sm);

/// Block slots of one SM; nullopt for a compute capability that cuda_occupancy.h does not know.
[[nodiscard]] std::optional<int> max_blocks_per_sm(int cc_major, int cc_minor);

/// The course text's arithmetic (PMPP 4.7): plain division of every per-SM resource by the block's
/// use, no allocation units. Returns occupancy as a fraction of max threads.
[[nodiscard]] double textbook_occupancy(const SmLimits& sm, const Footprint& footprint);

}  // namespace occbench::theory
