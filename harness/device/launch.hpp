// SPDX-License-Identifier: Apache-2.0
// A launch shape and how it reaches the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>

#include "harness/device/census.cuh"
#include "harness/device/device.hpp"
#include "harness/device/kernel.hpp"
#include "harness/device/resource.hpp"
#include "harness/device/sm_share.hpp"

namespace occbench {

/// A launch without its argument.
struct Launch {
  const void* entry = nullptr;
  int grid_size = 0;
  int block_size = 0;
  std::size_t dynamic_smem_bytes = 0;
  int carveout_percent = -1;  ///< shared-memory carve-out that is requested; -1: the driver's choice
  int cluster_size = 1;
  const SmShare* share = nullptr;  ///< the SMs that it may use; null: all
};

/// cudaFuncGetAttributes of an entry.
struct EntryAttributes {
  int registers_per_thread = 0;
  std::size_t static_smem_bytes = 0;
  std::size_t local_bytes = 0;  ///< stack per thread: local arrays and spilled registers
  int max_block_size = 0;
};
EntryAttributes entry_attributes(const void* entry);

/// Sets the entry's dynamic shared memory limit and carve-out as `launch` needs them. Must precede a launch
/// if another case has used the entry in between.
void configure(const Launch& launch);

/// Launches with the problem's argument, asynchronously. Throws CudaError if the launch fails.
void launch_kernel(const Launch& launch, const Problem& problem, Census census, const Stream& stream);

/// The same in exactly this stream and on its SMs: between `enter` and `leave` of the share.
void launch_on(const Launch& launch, const Problem& problem, Census census, cudaStream_t stream);

/// cudaOccupancyMaxActiveBlocksPerMultiprocessor for a configured launch.
int api_blocks_per_sm(const Launch& launch);

/// cudaOccupancyMaxActiveClusters: clusters of launch.cluster_size blocks that the whole device holds at
/// once. Configures the launch.
int api_active_clusters(const Launch& launch);

/// cudaOccupancyMaxActiveClusters for a footprint that no kernel here has: of an empty kernel whose shared
/// memory gives the same blocks per SM. nullopt if there is no such size or the query fails.
std::optional<int> active_clusters(const Device& device, const theory::Footprint& footprint,
                                   int cluster_size);

/// Block size (threads) that cudaOccupancyMaxPotentialBlockSize picks for this kernel, given the dynamic
/// shared memory that a block of a size needs (empty: none); nullopt if it fails.
std::optional<int> api_block_size(const void* entry,
                                  const std::function<std::size_t(int)>& dynamic_smem_bytes);

}  // namespace occbench
