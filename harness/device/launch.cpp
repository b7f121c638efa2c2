// SPDX-License-Identifier: Apache-2.0
#include "harness/device/launch.hpp"

#include <cuda_runtime.h>  // the occupancy API's templates; no device code

#include <array>

#include "harness/device/instruments.hpp"

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
  constexpr int portable_cluster = 8;  // CUDA C++ Programming Guide, 'Thread Block Clusters'
  if (launch.cluster_size > portable_cluster)
    check(cudaFuncSetAttribute(launch.entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "allowing clusters of more than 8 blocks");
}

namespace {

/// A launch for the runtime. `cluster` stores its one attribute, and must live as long as the result is
/// used.
cudaLaunchConfig_t config_of(const Launch& launch, cudaLaunchAttribute& cluster) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid_size));
  config.blockDim = dim3(static_cast<unsigned>(launch.block_size));
  config.dynamicSmemBytes = launch.dynamic_smem_bytes;
  if (launch.cluster_size > 1) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(launch.cluster_size);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  return config;
}

}  // namespace

void launch_on(const Launch& launch, const Problem& problem, Census census, cudaStream_t stream) {
  if (problem.launch) {
    static_cast<void>(cudaGetLastError());  // left by another call
    problem.launch(launch, census, stream);
    return check(cudaGetLastError(), "launching the kernel");
  }
  cudaLaunchAttribute cluster{};
  cudaLaunchConfig_t config = config_of(launch, cluster);
  config.stream = stream;
  // The runtime copies the arguments during the call; it only wants them non-const.
  std::array<void*, 2> arguments{const_cast<std::byte*>(problem.parameters.data()), &census};
  check(cudaLaunchKernelExC(&config, launch.entry, arguments.data()), "launching the kernel");
}

void launch_kernel(const Launch& launch, const Problem& problem, Census census, const Stream& stream) {
  launch_on(launch, problem, census, enter(launch.share, stream));
  leave(launch.share, stream);
}

int api_blocks_per_sm(const Launch& launch) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.entry, launch.block_size,
                                                      launch.dynamic_smem_bytes),
        "asking for the occupancy");
  return blocks;
}

int api_active_clusters(const Launch& launch) {
  configure(launch);
  Launch one = launch;
  one.grid_size = launch.cluster_size;
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config = config_of(one, cluster);
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, launch.entry, &config), "asking for the active clusters");
  return clusters;
}

std::optional<int> active_clusters(const Device& device, const theory::Footprint& footprint,
                                   int cluster_size) try {
  check(cudaSetDevice(device.index), "selecting the device");
  const void* const entry = instruments::empty_entry();
  const EntryAttributes attributes = entry_attributes(entry);
  theory::Footprint empty_kernel{.block_size = footprint.block_size,
                                 .registers_per_thread = attributes.registers_per_thread,
                                 .carveout_percent = footprint.carveout_percent};
  const auto ballast = theory::ballast_for_blocks(device.sm, empty_kernel,
                                                  theory::occupancy(device.sm, footprint).blocks_per_sm);
  if (!ballast) return {};
  return api_active_clusters({.entry = entry,
                              .block_size = footprint.block_size,
                              .dynamic_smem_bytes = *ballast,
                              .carveout_percent = footprint.carveout_percent,
                              .cluster_size = cluster_size});
} catch (const CudaError&) {
  return {};
}

std::optional<int> api_block_size(const void* entry,
                                  const std::function<std::size_t(int)>& dynamic_smem_bytes) {
  int min_grid = 0;
  int block_size = 0;
  const auto need = [&](int block) { return dynamic_smem_bytes ? dynamic_smem_bytes(block) : 0; };
  if (cudaOccupancyMaxPotentialBlockSizeVariableSMem(&min_grid, &block_size, entry, need) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return block_size;
}

}  // namespace occbench
