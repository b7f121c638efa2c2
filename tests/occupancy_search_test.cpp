// SPDX-License-Identifier: Apache-2.0
// The searches of cliffs and ballast, against a walk over all values.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/occupancy/cliffs.hpp"
#include "harness/theory/occupancy/occupancy.hpp"
#include "tests/sanitized.hpp"

namespace occbench::theory {
namespace {

constexpr std::size_t kib = 1024;

SmLimits sm_of(const char* name) { return find_device(name).sm; }

constexpr int trials(int all) { return is_sanitized ? all / 10 : all; }

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

TEST_P(RandomFootprints, ResidencyIsTheMinimumOfTheLimits) {
  for (int trial = 0; trial < trials(20000); ++trial) {
    const Footprint f = next();
    const Occupancy o = occupancy(sm_, f);
    const std::pair<Limiter, std::optional<int>> limits[] = {
        {Limiter::warps, o.warp_limit},         {Limiter::blocks, o.block_limit},
        {Limiter::registers, o.register_limit}, {Limiter::shared_memory, o.smem_limit},
        {Limiter::barriers, o.barrier_limit},   {Limiter::virtual_resources, o.virtual_resource_limit}};
    int least = INT_MAX;
    for (const auto& [limiter, blocks] : limits) least = std::min(least, blocks.value_or(INT_MAX));
    ASSERT_EQ(o.blocks_per_sm, least) << trial << ' ' << o.launch_error;
    ASSERT_EQ(o.is_launchable(), o.blocks_per_sm > 0);
    for (const auto& [limiter, blocks] : limits) ASSERT_EQ(has(o.limiters, limiter), blocks == least);
  }
}

/// `values`: what the dial may be turned to, in ascending order; the nearest counts, the larger of two
/// equally near.
template <typename Set>
void expect_walked(const SmLimits& sm, const Footprint& f, std::int64_t own,
                   const std::vector<std::int64_t>& values, const Cliffs& found, Set set) {
  const double fraction = occupancy(sm, f).fraction;
  Cliffs walked;
  for (const std::int64_t value : values) {
    Footprint g = f;
    set(g, value);
    const Occupancy o = occupancy(sm, g);
    if (o.fraction == fraction) continue;
    auto& side = o.fraction < fraction ? walked.loses : walked.gains;
    if (!side || std::abs(value - own) <= std::abs(side->delta))
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

TEST_P(RandomFootprints, CliffsMatchAnExhaustiveSearch) {
  for (int trial = 0; trial < trials(300); ++trial) {
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

TEST_P(RandomFootprints, BallastMatchesAnExhaustiveSearch) {
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

TEST_P(RandomFootprints, OneByteLessBallastKeepsMoreBlocks) {
  for (int trial = 0; trial < trials(500); ++trial) {
    const Footprint f = next();
    for (int blocks = 1; blocks <= 33; ++blocks) {
      const auto ballast = ballast_for_blocks(sm_, f, blocks);
      if (!ballast || *ballast == f.dynamic_smem_bytes) continue;
      Footprint less = f;
      less.dynamic_smem_bytes = *ballast - 1;
      EXPECT_GT(occupancy(sm_, less).blocks_per_sm, blocks);
    }
  }
}

TEST_P(RandomFootprints, UnusedResourcesAreTooSmallForAnotherBlock) {
  for (int trial = 0; trial < trials(5000); ++trial) {
    const Footprint f = next();
    const Occupancy o = occupancy(sm_, f);
    if (!o.is_launchable()) continue;
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

TEST(Cliffs, NoGainWhereAnotherResourceLimits) {
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

TEST(Cliffs, AreWholeWarpsThatChangeOccupancy) {
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

TEST(Cliffs, FindJointGainsOfRegistersAndSmem) {
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

TEST_P(RandomFootprints, JointGainUsesTheLargestFootprint) {
  for (int trial = 0; trial < trials(3000); ++trial) {
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
  std::vector<SmLimits> sms;
  for (const std::string& cc : compute_capabilities()) sms.push_back(find_device("cc" + cc).sm);
  for (int trial = 0; trial < trials(10000); ++trial) {
    const SmLimits& sm = sms[random() % sms.size()];
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

TEST(Cliffs, FindTheFootprintThatCanLaunchAgain) {
  const AllCliffs c = cliffs(sm_of("h200"), {.block_size = 320, .registers_per_thread = 200});
  ASSERT_TRUE(c.registers.gains);
  EXPECT_EQ(c.registers.gains->value, 168);
  ASSERT_TRUE(c.threads.gains);
  EXPECT_EQ(c.threads.gains->value, 256);
  EXPECT_FALSE(c.registers.loses);
}

}  // namespace
}  // namespace occbench::theory
