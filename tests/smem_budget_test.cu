// SPDX-License-Identifier: Apache-2.0
// docs/examples/mechanisms.cu solves calculate_appropriate_SM_usage as theory does, on GPUs of the catalogue.
#define main mechanisms_main
#include "docs/examples/mechanisms.cu"
#undef main

#include <gtest/gtest.h>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {
namespace {

TEST(SmemBudget, MatchesTheoryOnEachGpu) {
  for (const char* name : {"v100", "t4", "a100", "rtx4090", "h100", "h200"}) {
    const SmLimits sm = find_device(name).sm;
    cudaDeviceProp device{};
    device.major = sm.cc_major;
    device.sharedMemPerMultiprocessor = sm.smem_per_sm_bytes;
    device.reservedSharedMemPerBlock = sm.smem_reserved_per_block_bytes;
    device.sharedMemPerBlockOptin = sm.smem_per_block_optin_bytes;
    Footprint footprint{.block_size = 64, .registers_per_thread = 32};
    const int max_blocks = occupancy(sm, footprint).blocks_per_sm;
    for (int blocks = 1; blocks <= max_blocks; ++blocks) {
      footprint.dynamic_smem_bytes = static_cast<std::size_t>(calculate_appropriate_SM_usage(device, blocks));
      EXPECT_GE(occupancy(sm, footprint).blocks_per_sm, blocks) << name;
      footprint.dynamic_smem_bytes += 1;
      EXPECT_LT(occupancy(sm, footprint).blocks_per_sm, blocks) << name;
    }
  }
}

}  // namespace
}  // namespace occbench::theory
