// SPDX-License-Identifier: Apache-2.0
// The figures of the course text and of the hardware, by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>

#include "harness/theory/occupancy/answer.hpp"
#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {
namespace {

constexpr std::size_t kib = 1024;

SmLimits sm_of(const char* name) { return find_device(name).sm; }

Occupancy on(const char* device, const Footprint& footprint) { return occupancy(sm_of(device), footprint); }

double textbook_on(const char* device, const Footprint& footprint) {
  return textbook_occupancy(sm_of(device), footprint);
}

// --- The course text (PMPP 4.7, 5.6) and what the hardware makes of it

TEST(PmppExamples, A100OccupancyByBlockSize) {
  const std::pair<int, double> table[] = {{32, 0.5},  {64, 1.0},   {128, 1.0}, {256, 1.0},
                                          {512, 1.0}, {768, 0.75}, {1024, 1.0}};
  for (const auto& [block_size, expected] : table) {
    const Footprint f{.block_size = block_size, .registers_per_thread = 32};
    EXPECT_DOUBLE_EQ(on("a100", f).fraction, expected) << block_size;
    EXPECT_DOUBLE_EQ(textbook_on("a100", f), expected) << block_size;
  }
}

TEST(PmppExamples, ThirtyTwoThreadBlocksRunOutOfBlockSlots) {
  const Occupancy o = on("a100", {.block_size = 32, .registers_per_thread = 32});
  EXPECT_EQ(o.blocks_per_sm, 32);
  EXPECT_EQ(to_string(o.limiters), "blocks");
}

TEST(PmppExamples, BlocksOf96ThreadsReach98Percent) {
  const Occupancy o = on("a100", {.block_size = 96, .registers_per_thread = 32});
  EXPECT_EQ(o.blocks_per_sm, 21);
  EXPECT_DOUBLE_EQ(o.fraction, 0.984375);
}

TEST(PmppExamples, RegistersBeyond32CostOneOfFourBlocks) {
  EXPECT_EQ(on("a100", {.block_size = 512, .registers_per_thread = 31}).blocks_per_sm, 4);
  const Footprint f{.block_size = 512, .registers_per_thread = 33};
  const Occupancy o = on("a100", f);
  EXPECT_EQ(o.blocks_per_sm, 3);
  EXPECT_DOUBLE_EQ(o.fraction, 0.75);
  EXPECT_EQ(to_string(o.limiters), "registers");
  EXPECT_DOUBLE_EQ(textbook_on("a100", f), 0.75);
}

TEST(PmppExamples, ThirtyThreeRegistersAre75PercentAtEveryBlockSize) {
  for (const char* device : {"a100", "h200"}) {
    const Footprint at_256{.block_size = 256, .registers_per_thread = 33};
    EXPECT_DOUBLE_EQ(textbook_on(device, at_256), 0.875);
    EXPECT_DOUBLE_EQ(on(device, at_256).fraction, 0.75);
    const Footprint at_64{.block_size = 64, .registers_per_thread = 33};
    EXPECT_DOUBLE_EQ(textbook_on(device, at_64), 0.96875);  // printed as 96.9 %
    EXPECT_DOUBLE_EQ(on(device, at_64).fraction, 0.75);
  }
}

TEST(PmppExamples, SixtyFourRegistersNeverExceedHalf) {
  double best = 0;
  for (int block_size = 1; block_size <= 1024; ++block_size)
    best = std::max(best, on("a100", {.block_size = block_size, .registers_per_thread = 64}).fraction);
  EXPECT_DOUBLE_EQ(best, 0.5);
}

TEST(PmppExamples, ThirtyTwoKiBOfSmemPerBlockOf256) {
  const Footprint f{.block_size = 256, .registers_per_thread = 32, .dynamic_smem_bytes = 32 * kib};
  EXPECT_DOUBLE_EQ(textbook_on("a100", f), 0.625);  // the text prints 62 %
  EXPECT_EQ(on("a100", f).blocks_per_sm, 4);
  EXPECT_DOUBLE_EQ(on("a100", f).fraction, 0.5);
  EXPECT_EQ(on("h200", f).blocks_per_sm, 6);
  EXPECT_DOUBLE_EQ(on("h200", f).fraction, 0.75);
  EXPECT_EQ(on("h200", f).allocated_smem_per_block_bytes, 33 * kib);
}

// --- What the text leaves out

TEST(Occupancy, TwoHundredRegistersTimes320ThreadsCannotLaunch) {
  const Occupancy o = on("h200", {.block_size = 320, .registers_per_thread = 200});
  EXPECT_EQ(o.blocks_per_sm, 0);
  EXPECT_EQ(
      o.launch_error,
      "200 registers x 320 threads needs 12 warps (10 rounded up to fours) of 6,400 registers = 76,800 > "
      "65,536 per block");
  EXPECT_EQ(to_string(o.limiters), "registers");
}

TEST(Occupancy, SixteenBarriersLimitToFourBlocksOnHopper) {
  Footprint f{.block_size = 64, .registers_per_thread = 32};
  EXPECT_EQ(on("h200", f).blocks_per_sm, 32);
  f.barriers = 16;
  EXPECT_EQ(on("h200", f).blocks_per_sm, 4);
  EXPECT_EQ(to_string(on("h200", f).limiters), "barriers");
  EXPECT_EQ(on("a100", f).blocks_per_sm, 32);
  EXPECT_FALSE(on("a100", f).barrier_limit);
}

TEST(Occupancy, VirtualResourcesLimitFromComputeCapability10On) {
  const Footprint f{.block_size = 128, .registers_per_thread = 12, .virtual_resources = 64};
  for (const char* device : {"b200", "cc11.0", "rtx5090"}) {
    EXPECT_EQ(on(device, f).blocks_per_sm, 2) << device;
    EXPECT_EQ(to_string(on(device, f).limiters), "virtual_resources");
  }
  EXPECT_EQ(on("h200", f).blocks_per_sm, 16);
  EXPECT_FALSE(on("h200", f).virtual_resource_limit);
}

TEST(Occupancy, ClustersOfMoreThanEightNeedAnOptIn) {
  Query query{.footprint = {.block_size = 128, .registers_per_thread = 32}, .cluster_size = 8};
  const SmLimits sm = find_device("h200").sm;
  EXPECT_EQ(answer(sm, query).status.find("NonPortable"), std::string::npos);
  query.cluster_size = 16;
  EXPECT_NE(answer(sm, query).status.find("the 16 blocks of a cluster are resident at once"),
            std::string::npos);
  EXPECT_NE(answer(sm, query).status.find("cudaFuncAttributeNonPortableClusterSizeAllowed"),
            std::string::npos);
}

TEST(Occupancy, BlocksPerSmByDynamicSmemOnHopper) {
  for (std::size_t size_kib = 1; size_kib <= 227; ++size_kib)
    EXPECT_EQ(on("h200", {.block_size = 32, .registers_per_thread = 32, .dynamic_smem_bytes = size_kib * kib})
                  .blocks_per_sm,
              std::min<int>(32, static_cast<int>(228 / (size_kib + 1))))
        << size_kib;
}

TEST(Occupancy, CarveoutLimitsAllButTheFirstBlock) {
  Footprint f{
      .block_size = 64, .registers_per_thread = 32, .dynamic_smem_bytes = 7 * kib, .carveout_percent = 25};
  EXPECT_EQ(on("h200", f).blocks_per_sm, 8);  // 57 KiB wanted, 64 KiB given
  EXPECT_EQ(smem_capacity_bytes(sm_of("h200"), f), 64 * kib);
  f.dynamic_smem_bytes = 200 * kib;
  EXPECT_EQ(on("h200", f).blocks_per_sm, 1);
  EXPECT_EQ(smem_capacity_bytes(sm_of("h200"), f), 228 * kib);
}

TEST(Occupancy, LaunchErrorsNameTheLimit) {
  const Footprint good{.block_size = 128, .registers_per_thread = 32};
  const auto why = [&](auto change) {
    Footprint f = good;
    change(f);
    const Occupancy o = on("h200", f);
    EXPECT_EQ(o.blocks_per_sm, 0);
    EXPECT_EQ(o.fraction, 0);
    return o.launch_error;
  };
  EXPECT_EQ(why([](Footprint& f) { f.block_size = 0; }), "block size 0: a block has 1 to 1,024 threads");
  EXPECT_EQ(why([](Footprint& f) { f.block_size = -1; }), "block size -1: a block has 1 to 1,024 threads");
  EXPECT_EQ(why([](Footprint& f) { f.block_size = INT_MAX; }),
            "block size 2,147,483,647 exceeds the device's 1,024 threads per block");
  EXPECT_EQ(why([](Footprint& f) { f.max_block_size = 64; }),
            "block size 128 exceeds the kernel's own limit of 64 threads (launch bounds or registers)");
  EXPECT_EQ(why([](Footprint& f) { f.registers_per_thread = 256; }),
            "256 registers per thread: a thread has at most 255");
  EXPECT_EQ(why([](Footprint& f) { f.registers_per_thread = INT_MAX; }),
            "2,147,483,647 registers per thread: a thread has at most 255");
  EXPECT_EQ(why([](Footprint& f) { f.registers_per_thread = -1; }),
            "-1 registers per thread: a thread has 0 to 255");
  EXPECT_EQ(why([](Footprint& f) { f.barriers = 17; }), "17 barriers: a block has at most 16 (ids 0 to 15)");
  EXPECT_EQ(why([](Footprint& f) { f.carveout_percent = 101; }),
            "carve-out 101 %: it is 0 to 100, or -1 for the driver's choice");
  EXPECT_EQ(
      why([](Footprint& f) { f.static_smem_bytes = 1024, f.dynamic_smem_bytes = 227 * kib; }),
      "1,024 B static + 232,448 B dynamic shared memory exceeds the 232,448 B a block may have on cc 9.0");
  EXPECT_EQ(why([](Footprint& f) { f.static_smem_bytes = 64 * kib; }),
            "65,536 B of static shared memory exceeds the 49,152 B that a kernel may declare; dynamic shared "
            "memory has up to 232,448 B on cc 9.0");
  EXPECT_NE(why([](Footprint& f) { f.dynamic_smem_bytes = SIZE_MAX; }), "");
  EXPECT_NE(why([](Footprint& f) { f.static_smem_bytes = SIZE_MAX, f.dynamic_smem_bytes = SIZE_MAX; }), "");
  EXPECT_NE(occupancy(SmLimits{.cc_major = 99}, good).launch_error, "");
}

TEST(SmemOptIn, IsNeededAbove48KiB) {
  const SmLimits sm = sm_of("h200");
  EXPECT_FALSE(needs_opt_in(sm, {.static_smem_bytes = 48 * kib}));
  EXPECT_FALSE(needs_opt_in(sm, {.dynamic_smem_bytes = 48 * kib}));
  EXPECT_TRUE(needs_opt_in(sm, {.dynamic_smem_bytes = 48 * kib + 1}));
  EXPECT_TRUE(needs_opt_in(sm, {.static_smem_bytes = 1, .dynamic_smem_bytes = 48 * kib}));
}

TEST(Limiter, NamesAreJoined) {
  EXPECT_EQ(to_string(Limiter::none), "none");
  EXPECT_EQ(to_string(Limiter::registers | Limiter::shared_memory), "registers+shared_memory");
}

}  // namespace
}  // namespace occbench::theory
