// SPDX-License-Identifier: Apache-2.0
#include "harness/launch.hpp"

#include <array>

namespace occbench {

EntryAttributes entry_attributes(const void* entry) {
  cudaFuncAttributes a{};
  check(cudaFuncGetAttributes(&a, entry), "reading a kernel's attributes");
  return {.registers_per_thread = a.numRegs,
          .static_smem_bytes = a.sharedSizeBytes,
          .local_bytes = a.localSizeBytes,
          .max_block_size = a.maxThreadsPerBlock};
}

void configure(const Launch& launch) {
  check(cudaFuncSetAttribute(launch.entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.dynamic_smem_bytes)),
        "raising the dynamic shared memory limit");
  check(cudaFuncSetAttribute(launch.entry, cudaFuncAttributePreferredSharedMemoryCarveout,
                             launch.carveout_percent),
        "pinning the carve-out");
}

void launch_kernel(const Launch& launch, const Problem& problem, Census census, const Stream& stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid_size));
  config.blockDim = dim3(static_cast<unsigned>(launch.block_size));
  config.dynamicSmemBytes = launch.dynamic_smem_bytes;
  config.stream = stream.get();
  cudaLaunchAttribute cluster{};
  if (launch.cluster_size > 1) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(launch.cluster_size);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  // The runtime copies the arguments during the call; it only wants them non-const.
  std::array<void*, 2> arguments{const_cast<std::byte*>(problem.parameters.data()), &census};
  check(cudaLaunchKernelExC(&config, launch.entry, arguments.data()), "launching the kernel");
}

int api_blocks_per_sm(const Launch& launch) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.entry, launch.block_size,
                                                      launch.dynamic_smem_bytes),
        "asking for the occupancy");
  return blocks;
}

}  // namespace occbench
