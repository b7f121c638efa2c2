// SPDX-License-Identifier: Apache-2.0
// A launch shape and how it reaches the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "harness/census.cuh"
#include "harness/kernel.hpp"
#include "harness/resource.hpp"

namespace occbench {

/// Everything about a launch but its argument.
struct Launch {
  const void* entry = nullptr;
  int grid_size = 0;
  int block_size = 0;
  std::size_t dynamic_smem_bytes = 0;
  int carveout_percent =
      -1;  ///< share of the L1/shared array preferred for shared memory; -1: the driver's choice
  int cluster_size = 1;
};

/// What the compiler made of an entry (cudaFuncGetAttributes).
struct EntryAttributes {
  int registers_per_thread = 0;
  std::size_t static_smem_bytes = 0;
  std::size_t local_bytes = 0;  ///< stack per thread: local arrays and spilled registers
  int max_block_size = 0;
};
EntryAttributes entry_attributes(const void* entry);

/// Raises the entry's dynamic shared memory limit and pins its carve-out, as `launch` needs. Must precede the
/// launch whenever another case used the same entry in between.
void configure(const Launch& launch);

/// Launches with the problem's argument, asynchronously. Throws CudaError when the launch is refused.
void launch_kernel(const Launch& launch, const Problem& problem, Census census, const Stream& stream);

/// cudaOccupancyMaxActiveBlocksPerMultiprocessor for a configured launch.
int api_blocks_per_sm(const Launch& launch);

}  // namespace occbench
