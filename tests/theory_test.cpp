// SPDX-License-Identifier: Apache-2.0
// The figures of the course text and of the hardware, by name; and every search against brute force.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/theory/occupancy/answer.hpp"
#include "harness/theory/occupancy/cards.hpp"
#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/occupancy/cliffs.hpp"
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

TEST(CourseText, A100BlockSizes) {
  const std::pair<int, double> table[] = {{32, 0.5},  {64, 1.0},   {128, 1.0}, {256, 1.0},
                                          {512, 1.0}, {768, 0.75}, {1024, 1.0}};
  for (const auto& [block_size, expected] : table) {
    const Footprint f{.block_size = block_size, .registers_per_thread = 32};
    EXPECT_DOUBLE_EQ(on("a100", f).fraction, expected) << block_size;
    EXPECT_DOUBLE_EQ(textbook_on("a100", f), expected) << block_size;
  }
}

TEST(CourseText, ThirtyTwoThreadBlocksRunOutOfBlockSlots) {
  const Occupancy o = on("a100", {.block_size = 32, .registers_per_thread = 32});
  EXPECT_EQ(o.blocks_per_sm, 32);
  EXPECT_EQ(to_string(o.limiters), "blocks");
}

TEST(CourseText, NinetySixThreadsReach98Percent) {
  const Occupancy o = on("a100", {.block_size = 96, .registers_per_thread = 32});
  EXPECT_EQ(o.blocks_per_sm, 21);
  EXPECT_DOUBLE_EQ(o.fraction, 0.984375);
}

TEST(CourseText, TwoRegistersMoreCostOneBlockOfFour) {
  EXPECT_EQ(on("a100", {.block_size = 512, .registers_per_thread = 31}).blocks_per_sm, 4);
  const Footprint f{.block_size = 512, .registers_per_thread = 33};
  const Occupancy o = on("a100", f);
  EXPECT_EQ(o.blocks_per_sm, 3);
  EXPECT_DOUBLE_EQ(o.fraction, 0.75);
  EXPECT_EQ(to_string(o.limiters), "registers");
  EXPECT_DOUBLE_EQ(textbook_on("a100", f), 0.75);
}

TEST(CourseText, ThirtyThreeRegistersAre75PercentAtEveryBlockSize) {
  for (const char* device : {"a100", "h200"}) {
    const Footprint at_256{.block_size = 256, .registers_per_thread = 33};
    EXPECT_DOUBLE_EQ(textbook_on(device, at_256), 0.875);
    EXPECT_DOUBLE_EQ(on(device, at_256).fraction, 0.75);
    const Footprint at_64{.block_size = 64, .registers_per_thread = 33};
    EXPECT_DOUBLE_EQ(textbook_on(device, at_64), 0.96875);  // printed as 96.9 %
    EXPECT_DOUBLE_EQ(on(device, at_64).fraction, 0.75);
  }
}

TEST(CourseText, SixtyFourRegistersNeverExceedHalf) {
  double best = 0;
  for (int block_size = 1; block_size <= 1024; ++block_size)
    best = std::max(best, on("a100", {.block_size = block_size, .registers_per_thread = 64}).fraction);
  EXPECT_DOUBLE_EQ(best, 0.5);
}

TEST(CourseText, ThirtyTwoKiBPerBlockOf256) {
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
      o.unlaunchable,
      "200 registers x 320 threads needs 12 warps (10 rounded up to fours) of 6,400 registers = 76,800 > "
      "65,536 per block");
  EXPECT_EQ(to_string(o.limiters), "registers");
}

TEST(Occupancy, SixteenBarriersLeaveFourBlocksOnHopper) {
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

TEST(Occupancy, SharedMemoryStairsOnHopper) {
  for (std::size_t size_kib = 1; size_kib <= 227; ++size_kib)
    EXPECT_EQ(on("h200", {.block_size = 32, .registers_per_thread = 32, .dynamic_smem_bytes = size_kib * kib})
                  .blocks_per_sm,
              std::min<int>(32, static_cast<int>(228 / (size_kib + 1))))
        << size_kib;
}

TEST(Occupancy, CarveOutBoundsResidencyButNeverTheFirstBlock) {
  Footprint f{
      .block_size = 64, .registers_per_thread = 32, .dynamic_smem_bytes = 7 * kib, .carveout_percent = 25};
  EXPECT_EQ(on("h200", f).blocks_per_sm, 8);  // 57 KiB wanted, 64 KiB given
  EXPECT_EQ(smem_capacity_bytes(sm_of("h200"), f), 64 * kib);
  f.dynamic_smem_bytes = 200 * kib;
  EXPECT_EQ(on("h200", f).blocks_per_sm, 1);
  EXPECT_EQ(smem_capacity_bytes(sm_of("h200"), f), 228 * kib);
}

TEST(Occupancy, ReasonsAreOneHelpfulLine) {
  const Footprint good{.block_size = 128, .registers_per_thread = 32};
  const auto why = [&](auto change) {
    Footprint f = good;
    change(f);
    const Occupancy o = on("h200", f);
    EXPECT_EQ(o.blocks_per_sm, 0);
    EXPECT_EQ(o.fraction, 0);
    return o.unlaunchable;
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
  EXPECT_NE(occupancy(SmLimits{.cc_major = 99}, good).unlaunchable, "");
}

TEST(OptIn, IsNeededAboveWhatEveryKernelMayHave) {
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

// --- Searches against walking value by value

class RandomFootprints : public testing::TestWithParam<const char*> {
 protected:
  Footprint next() {
    const auto pick = [this](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random_);
    };
    const auto limit = static_cast<int>(smem_limit_per_block_bytes(sm_));
    const int share = 1 << pick(0, 5);  // small demands as often as large ones
    return {.block_size = pick(0, 9) ? 32 * pick(1, 32) : pick(1, 1030),
            .registers_per_thread = pick(0, 9) ? pick(16, 128) : pick(0, 260),
            .static_smem_bytes = static_cast<std::size_t>(pick(0, 1) * pick(0, 4096)),
            .dynamic_smem_bytes = static_cast<std::size_t>(pick(0, 1) * pick(0, limit / share)),
            .barriers = pick(0, 2) ? 1 : pick(0, 16),
            .carveout_percent = pick(0, 2) ? -1 : pick(0, 100),
            .max_block_size = pick(0, 9) ? 1024 : 256,
            .virtual_resources = pick(0, 3) ? 0 : pick(1, 128)};
  }

  SmLimits sm_ = sm_of(GetParam());
  std::mt19937 random_{7};
};

TEST_P(RandomFootprints, ResidencyIsTheLeastOfTheLimitsAndTheLimitersAreThoseThatEqualIt) {
  for (int trial = 0; trial < 20000; ++trial) {
    const Footprint f = next();
    const Occupancy o = occupancy(sm_, f);
    const std::pair<Limiter, std::optional<int>> limits[] = {
        {Limiter::warps, o.warp_limit},         {Limiter::blocks, o.block_limit},
        {Limiter::registers, o.register_limit}, {Limiter::shared_memory, o.smem_limit},
        {Limiter::barriers, o.barrier_limit},   {Limiter::virtual_resources, o.virtual_resource_limit}};
    int least = INT_MAX;
    for (const auto& [limiter, blocks] : limits) least = std::min(least, blocks.value_or(INT_MAX));
    ASSERT_EQ(o.blocks_per_sm, least) << trial << ' ' << o.unlaunchable;
    ASSERT_EQ(o.launchable(), o.blocks_per_sm > 0);
    for (const auto& [limiter, blocks] : limits) ASSERT_EQ(has(o.limiters, limiter), blocks == least);
  }
}

/// `values`: what the dial may be turned to, in any order; the nearest counts, the larger of two equally
/// near.
template <typename Set>
void expect_walked(const SmLimits& sm, const Footprint& f, std::int64_t own, std::vector<std::int64_t> values,
                   const Cliffs& found, Set set) {
  const double fraction = occupancy(sm, f).fraction;
  std::ranges::sort(values, [own](std::int64_t a, std::int64_t b) {
    return std::pair(std::abs(a - own), -a) < std::pair(std::abs(b - own), -b);
  });
  Cliffs walked;
  for (const std::int64_t value : values) {
    Footprint g = f;
    set(g, value);
    const Occupancy o = occupancy(sm, g);
    if (auto& side = o.fraction < fraction ? walked.loses : walked.gains; o.fraction != fraction && !side)
      side = Cliff{value, value - own, o.blocks_per_sm, o.fraction};
  }
  for (const auto& [expected, got] : {std::pair(walked.loses, found.loses), {walked.gains, found.gains}}) {
    ASSERT_EQ(expected.has_value(), got.has_value());
    if (!expected) continue;
    EXPECT_EQ(expected->value, got->value);
    EXPECT_EQ(expected->delta, got->delta);
    EXPECT_EQ(expected->blocks_per_sm, got->blocks_per_sm);
    EXPECT_EQ(expected->occupancy, got->occupancy);
  }
}

/// The multiples of `step` from `least` to `most`.
std::vector<std::int64_t> steps(std::int64_t least, std::int64_t most, std::int64_t step = 1) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = (least + step - 1) / step * step; value <= most; value += step)
    values.push_back(value);
  return values;
}

TEST_P(RandomFootprints, CliffsAreWhereAWalkFindsThem) {
  for (int trial = 0; trial < 300; ++trial) {
    const Footprint f = next();
    const AllCliffs found = cliffs(sm_, f);
    expect_walked(sm_, f, f.registers_per_thread, steps(1, 255), found.registers,
                  [](Footprint& g, std::int64_t v) { g.registers_per_thread = static_cast<int>(v); });
    expect_walked(sm_, f, f.block_size, steps(32, std::min(1024, f.max_block_size), 32), found.threads,
                  [](Footprint& g, std::int64_t v) { g.block_size = static_cast<int>(v); });
    expect_walked(sm_, f, f.barriers, steps(0, 16), found.barriers,
                  [](Footprint& g, std::int64_t v) { g.barriers = static_cast<int>(v); });
    const auto most = static_cast<std::int64_t>(smem_limit_per_block_bytes(sm_) - f.static_smem_bytes);
    // Shared memory is allocated in multiples of 128 B: blocks are lost at the first byte beyond one.
    std::vector<std::int64_t> bytes;
    for (std::int64_t value = 0; value <= most; ++value)
      if ((static_cast<std::int64_t>(f.static_smem_bytes) + value) % 128 <= 1) bytes.push_back(value);
    expect_walked(sm_, f, static_cast<std::int64_t>(f.dynamic_smem_bytes), bytes, found.dynamic_smem,
                  [](Footprint& g, std::int64_t v) { g.dynamic_smem_bytes = static_cast<std::size_t>(v); });
  }
}

TEST_P(RandomFootprints, BallastIsExactAndLeast) {
  for (int trial = 0; trial < 3; ++trial) {
    const Footprint f = next();
    std::vector<std::optional<std::size_t>> least(34);  // by blocks, walked byte by byte
    for (std::size_t bytes = smem_limit_per_block_bytes(sm_) + 1; bytes-- > f.dynamic_smem_bytes;) {
      Footprint g = f;
      g.dynamic_smem_bytes = bytes;
      least[static_cast<std::size_t>(occupancy(sm_, g).blocks_per_sm)] = bytes;
    }
    for (int blocks = 1; blocks <= 33; ++blocks)
      EXPECT_EQ(ballast_for_blocks(sm_, f, blocks), least[static_cast<std::size_t>(blocks)]) << blocks;
    EXPECT_FALSE(ballast_for_blocks(sm_, f, 0));
  }
}

TEST_P(RandomFootprints, AvailableSharedMemoryIsTheMostThatKeepsTheBlocks) {
  for (int trial = 0; trial < 500; ++trial) {
    Footprint f = next();
    for (int blocks = 1; blocks <= 33; ++blocks) {
      const auto most = available_dynamic_smem(sm_, f, blocks);
      f.dynamic_smem_bytes = most.value_or(0);
      EXPECT_EQ(occupancy(sm_, f).blocks_per_sm >= blocks, most.has_value());
      f.dynamic_smem_bytes += 1;
      if (most) {
        EXPECT_LT(occupancy(sm_, f).blocks_per_sm, blocks);
      }
    }
  }
}

TEST_P(RandomFootprints, SlackIsNeverNegativeAndTooSmallForOneMoreBlockOfALimiter) {
  for (int trial = 0; trial < 5000; ++trial) {
    const Footprint f = next();
    const Occupancy o = occupancy(sm_, f);
    if (!o.launchable()) continue;
    const Unused s = unused_resources(sm_, f);
    EXPECT_GE(s.warps, 0);
    EXPECT_GE(s.blocks, 0);
    EXPECT_GE(s.registers, 0);
    EXPECT_LE(s.smem_bytes, sm_.smem_per_sm_bytes);
    EXPECT_GE(s.barriers.value_or(0), 0);
    if (has(o.limiters, Limiter::warps)) {
      EXPECT_LT(s.warps, o.warps_per_sm / o.blocks_per_sm);
    }
    if (has(o.limiters, Limiter::shared_memory)) {
      EXPECT_LT(s.smem_bytes, o.allocated_smem_per_block_bytes);
    }
    if (has(o.limiters, Limiter::barriers)) {
      EXPECT_LT(s.barriers.value(), f.barriers);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomFootprints,
                         testing::Values("v100", "xavier", "t4", "a100", "a40", "orin", "l4", "h200", "b200",
                                         "b300", "thor", "rtx5090", "gb10"),
                         [](const auto& device) { return std::string(device.param); });

TEST(Cliffs, AreNoneWhereAnotherResourceBinds) {
  const SmLimits sm = sm_of("h200");
  const AllCliffs c =
      cliffs(sm, {.block_size = 256, .registers_per_thread = 32, .dynamic_smem_bytes = 32 * kib});
  EXPECT_FALSE(c.registers.gains);
  ASSERT_TRUE(c.registers.loses);
  EXPECT_EQ(c.registers.loses->value, 41);
  ASSERT_TRUE(c.dynamic_smem.gains);
  EXPECT_EQ(c.dynamic_smem.gains->value, 32256);  // (228 KiB / 7, in units of 128 B) - 1 KiB
  EXPECT_EQ(c.dynamic_smem.gains->blocks_per_sm, 7);
}

TEST(Cliffs, AreStepsThatAPersonWouldTake) {
  const AllCliffs full = cliffs(sm_of("h200"), {.block_size = 256, .registers_per_thread = 32});
  ASSERT_TRUE(full.threads.loses);
  EXPECT_EQ(full.threads.loses->value, 288);  // not 257: a block has whole warps
  EXPECT_FALSE(full.threads.gains);
  ASSERT_TRUE(full.dynamic_smem.loses);
  EXPECT_EQ(full.dynamic_smem.loses->value, 28160 + 1);  // each of 8 blocks may have 228 / 8 - 1 KiB
  // One block more of 384 threads instead of 512 fills the same 48 of 64 warps: no cliff.
  const AllCliffs same = cliffs(sm_of("h200"), {.block_size = 512, .registers_per_thread = 36});
  ASSERT_TRUE(same.threads.loses);
  EXPECT_EQ(same.threads.loses->value, 544);
  EXPECT_FALSE(same.threads.gains);
  // More threads may gain.
  const AllCliffs more = cliffs(sm_of("h200"), {.block_size = 768, .registers_per_thread = 32});
  ASSERT_TRUE(more.threads.gains);
  EXPECT_GT(more.threads.gains->occupancy, 0.75);
}

TEST(Cliffs, NameWhatGainsTogetherWhereNothingGainsAlone) {
  const SmLimits sm = sm_of("h200");
  const Footprint both{.block_size = 256, .registers_per_thread = 33, .dynamic_smem_bytes = 32 * kib};
  const auto joint = gains_together(sm, both);
  ASSERT_TRUE(joint);
  EXPECT_EQ(joint->registers.value, 32);
  EXPECT_EQ(joint->dynamic_smem.value, 32256);  // (228 KiB / 7, in units of 128 B) - 1 KiB
  EXPECT_EQ(joint->registers.blocks_per_sm, 7);
  EXPECT_FALSE(gains_together(sm, {.block_size = 256, .registers_per_thread = 33}));  // 32 alone do
  EXPECT_FALSE(gains_together(sm, {.block_size = 256, .registers_per_thread = 32}));  // all warps are there
  EXPECT_FALSE(gains_together(sm, {.block_size = 2048, .registers_per_thread = 32}));
}

TEST_P(RandomFootprints, WhatGainsTogetherIsTheMostThatDoes) {
  for (int trial = 0; trial < 3000; ++trial) {
    const Footprint f = next();
    const auto joint = gains_together(sm_, f);
    if (!joint) continue;
    const int own = occupancy(sm_, f).blocks_per_sm;
    const auto at = [&](std::int64_t registers, std::int64_t smem_bytes) {
      Footprint g = f;
      g.registers_per_thread = static_cast<int>(registers);
      g.dynamic_smem_bytes = static_cast<std::size_t>(smem_bytes);
      return occupancy(sm_, g).blocks_per_sm;
    };
    const auto [registers, smem] = *joint;
    EXPECT_EQ(at(registers.value, smem.value), registers.blocks_per_sm);
    EXPECT_GT(registers.blocks_per_sm, own);
    EXPECT_EQ(at(registers.value + 1, smem.value), own);
    EXPECT_EQ(at(registers.value, smem.value + 1), own);
  }
}

/// One less than a loss keeps the blocks and the loss itself does not; so does one more than a gain.
TEST(Cliffs, AreExactToTheRegisterByteAndBarrier) {
  std::mt19937 random(1);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const std::vector<std::string> ccs = compute_capabilities();
  for (int trial = 0; trial < 10000; ++trial) {
    const SmLimits sm = find_device("cc" + ccs[random() % ccs.size()]).sm;
    const int limit = static_cast<int>(smem_limit_per_block_bytes(sm));
    const int static_smem = below(2) == 0 ? 0 : below(49153);
    const Footprint f{.block_size = 1 + below(1024),
                      .registers_per_thread = 1 + below(255),
                      .static_smem_bytes = static_cast<std::size_t>(static_smem),
                      .dynamic_smem_bytes = static_cast<std::size_t>(
                          below(3) == 0 ? 0 : below(std::max(limit - static_smem, 0) + 1)),
                      .barriers = below(17)};
    const AllCliffs all = cliffs(sm, f);
    const int own = occupancy(sm, f).blocks_per_sm;
    const auto check = [&](const char* dial, const Cliffs& found, auto set) {
      const auto at = [&](std::int64_t value) {
        Footprint g = f;
        set(g, value);
        return occupancy(sm, g).blocks_per_sm;
      };
      const auto where = [&] {
        return testing::Message() << dial << " of cc " << sm.cc_major << '.' << sm.cc_minor << ", "
                                  << f.block_size << " threads, " << f.registers_per_thread << " registers, "
                                  << f.static_smem_bytes << " + " << f.dynamic_smem_bytes << " B, "
                                  << f.barriers << " barriers";
      };
      if (found.loses) {
        EXPECT_EQ(at(found.loses->value - 1), own) << where();
        EXPECT_LT(at(found.loses->value), own) << where();
      }
      if (found.gains) {
        EXPECT_EQ(at(found.gains->value + 1), own) << where();
        EXPECT_GT(at(found.gains->value), own) << where();
      }
    };
    check("registers", all.registers,
          [](Footprint& g, std::int64_t v) { g.registers_per_thread = static_cast<int>(v); });
    check("shared memory", all.dynamic_smem,
          [](Footprint& g, std::int64_t v) { g.dynamic_smem_bytes = static_cast<std::size_t>(v); });
    check("barriers", all.barriers, [](Footprint& g, std::int64_t v) { g.barriers = static_cast<int>(v); });
  }
}

TEST(Cliffs, ShowTheWayBackToALaunch) {
  const AllCliffs c = cliffs(sm_of("h200"), {.block_size = 320, .registers_per_thread = 200});
  ASSERT_TRUE(c.registers.gains);
  EXPECT_EQ(c.registers.gains->value, 168);
  ASSERT_TRUE(c.threads.gains);
  EXPECT_EQ(c.threads.gains->value, 256);
  EXPECT_FALSE(c.registers.loses);
}

// --- The catalogue

TEST(Catalogue, KnowsEveryNameAndComputeCapability) {
  for (const std::string& name : device_names()) {
    const DeviceSpec e = find_device(name);
    EXPECT_EQ(e.name, name);
    EXPECT_GT(e.sm.sm_count, 0);
    EXPECT_GT(e.l2_bytes, 0u);
    EXPECT_TRUE(e.sm_clock_max_hz == 0 || e.sm_clock_max_hz > 6e8) << name;  // 0: not published
    EXPECT_GT(e.dram_bytes_per_s, 3e10) << name;
    EXPECT_GT(e.fp32_lanes_per_sm, 0);
  }
  for (const std::string& cc : compute_capabilities()) {
    const DeviceSpec e = find_device("cc" + cc);
    EXPECT_EQ(e.sm.sm_count, 0);
    const Occupancy o = occupancy(e.sm, {.block_size = 256, .registers_per_thread = 32});
    EXPECT_TRUE(o.launchable()) << cc << ' ' << o.unlaunchable;
    EXPECT_EQ(o.fraction, 1) << cc;
    for (int carveout = 0; carveout <= 100; ++carveout)  // the header knows this much shared memory
      EXPECT_TRUE(
          occupancy(e.sm, {.block_size = 32, .registers_per_thread = 32, .carveout_percent = carveout})
              .launchable())
          << cc;
  }
}

TEST(Catalogue, TakesTheNamesThatNvidiaSmiPrints) {
  for (const Card& card : cards) {
    const DeviceSpec e = find_device(card.product);
    EXPECT_EQ(10 * e.sm.cc_major + e.sm.cc_minor, card.cc) << card.product;
    const auto* const first = std::ranges::find(cards, std::string_view(e.name), &Card::name);
    EXPECT_STREQ(first->product, card.product);  // two cards may share a product's name
  }
  const std::pair<const char*, const char*> others[] = {{"Tesla T4", "t4"},
                                                        {"GeForce RTX 2080 Ti", "rtx2080ti"},
                                                        {"Orin (nvgpu)", "orin"},
                                                        {"DGX Spark", "gb10"},
                                                        {"RTX 6000 Ada", "rtx6000-ada"},
                                                        {"A6000", "rtxa6000"},
                                                        {"sm_86", "cc8.6"},
                                                        {"8.6", "cc8.6"},
                                                        {"sm_120f", "cc12.0"},
                                                        {"NVIDIA H20", "h20"},
                                                        {"NVIDIA GB200", "gb200"},
                                                        {"compute_90", "cc9.0"}};
  for (const auto& [written, name] : others) EXPECT_EQ(find_device(written).name, name) << written;
}

/// Of each compute capability since 7.0, cuda_occupancy.h takes the SM's shared memory, and not a byte more.
TEST(Catalogue, HasTheSharedMemoryOfTheHeader) {
  for (const std::string& cc : compute_capabilities()) {
    const SmLimits sm = sm_of(("cc" + cc).c_str());
    if (sm.cc_major < 7) continue;
    cudaOccDeviceProp properties;
    properties.computeMajor = sm.cc_major;
    properties.computeMinor = sm.cc_minor;
    std::size_t all = sm.smem_per_sm_bytes;
    EXPECT_EQ(cudaOccAlignUpShmemSizeVoltaPlus(&all, &properties), CUDA_OCC_SUCCESS) << cc;
    EXPECT_EQ(all, sm.smem_per_sm_bytes) << cc;
    std::size_t more = sm.smem_per_sm_bytes + 1;
    EXPECT_NE(cudaOccAlignUpShmemSizeVoltaPlus(&more, &properties), CUDA_OCC_SUCCESS) << cc;
  }
}

/// Compute capability (times ten) of NVIDIA's chips, by the first half of their PCI device ids.
int cc_of_chip(const std::string& id) {
  constexpr std::pair<const char*, int> chips[] = {
      {"1E", 75},  {"1F", 75},  {"21", 75},  {"20", 80},  {"22", 86},  {"24", 86},
      {"25", 86},  {"26", 89},  {"27", 89},  {"28", 89},  {"23", 90},  {"29", 100},
      {"31", 103}, {"2B", 120}, {"2C", 120}, {"2D", 120}, {"2F", 120}, {"2E", 121}};
  const auto* const chip =
      std::ranges::find(chips, id.substr(0, 2), [](const auto& c) { return std::string(c.first); });
  return chip == std::end(chips) ? 0 : chip->second;
}

/// Every name that the driver has for a GPU since Turing, and the compute capability of its device id.
TEST(Catalogue, KnowsTheDriversNamesByTheirChip) {
  std::ifstream file("tests/data/nvidia_smi_names.txt");
  std::size_t known = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::string id, name, why_not;
    std::istringstream cells(line);
    std::getline(cells, id, '\t'), std::getline(cells, name, '\t'), std::getline(cells, why_not);
    if (!why_not.empty()) {
      EXPECT_THROW(static_cast<void>(find_device(name)), std::invalid_argument) << name;
      continue;
    }
    const DeviceSpec device = find_device(name);
    EXPECT_EQ(10 * device.sm.cc_major + device.sm.cc_minor, cc_of_chip(id)) << name;
    EXPECT_GT(device.sm.sm_count, 0) << name;
    ++known;
  }
  EXPECT_GT(known, 200u);
}

TEST(Catalogue, IsForgivingAboutSpellingOnly) {
  EXPECT_EQ(find_device("H200").name, "h200");
  EXPECT_EQ(find_device("RTX 5090").name, "rtx5090");
  EXPECT_EQ(find_device("CC9.0").sm.smem_per_block_optin_bytes, 227 * kib);
  for (const char* unknown : {"", "h", "cc9", "cc13.0", "h2000"})
    EXPECT_THROW(static_cast<void>(find_device(unknown)), std::invalid_argument) << unknown;
  try {
    static_cast<void>(find_device("h300"));
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("h200"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Catalogue, PeakOfH200) {
  const DeviceSpec e = find_device("h200");
  EXPECT_NEAR(2.0 * e.fp32_lanes_per_sm * e.sm.sm_count * e.sm_clock_max_hz, 66.9e12, 0.05e12);
  EXPECT_EQ(e.fp64_lanes_per_sm, 64);
  DeviceSpec unknown{.sm = {.cc_major = 99}};
  set_sm_rates(unknown);
  EXPECT_EQ(unknown.fp32_lanes_per_sm, 0);
}

}  // namespace
}  // namespace occbench::theory
