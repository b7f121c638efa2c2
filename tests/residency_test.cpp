// SPDX-License-Identifier: Apache-2.0
// Where a launch's warp slots went: records made up so that each part is known.
#include "harness/measure/residency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace occbench {
namespace {

constexpr std::uint64_t start = 1'000'000'000'000;  // a device's global timer counts from long ago

CensusRecord block(std::uint32_t sm, std::uint64_t begin, std::uint64_t end) {
  return {.begin_ns = start + begin, .end_ns = start + end, .sm = sm, .pad = 0};
}

/// The parts against what they should be, and their sum against theory.
void expect_parts(const std::optional<SlotTime>& got, double theory, const SlotTime& expected) {
  ASSERT_TRUE(got.has_value());
  EXPECT_NEAR(got->resident, expected.resident, 1e-12);
  EXPECT_NEAR(got->launch, expected.launch, 1e-12);
  EXPECT_NEAR(got->ramp, expected.ramp, 1e-12);
  EXPECT_NEAR(got->turnover, expected.turnover, 1e-12);
  EXPECT_NEAR(got->tail, expected.tail, 1e-12);
  EXPECT_NEAR(got->imbalance, expected.imbalance, 1e-12);
  EXPECT_NEAR(got->unused, expected.unused, 1e-12);
  EXPECT_NEAR(got->launch + got->ramp + got->turnover + got->tail + got->imbalance + got->unused, theory,
              1e-12);
}

TEST(SlotTime, FullWaveEqualsTheory) {
  expect_parts(slot_time({block(0, 0, 100), block(0, 0, 100), block(1, 0, 100), block(1, 0, 100)}, 2, 2, 0.5),
               0.5, {.resident = 0.5, .launch = 0.5});
}

TEST(SlotTime, RampEndsWithASlotsFirstBlock) {
  // SM 1 begins 20 late, and its second block 40: 60 of 400. It is active from 20 on.
  expect_parts(slot_time({block(0, 0, 100), block(0, 0, 100), block(1, 20, 100), block(1, 40, 100)}, 2, 2, 1),
               1, {.resident = 340.0 / 360, .launch = 0.85, .ramp = 0.15});
}

TEST(SlotTime, TurnoverIsTheGapBetweenSuccessiveBlocks) {
  // Places are free at 40 and 50, and taken again at 45 and 60. No block, no active SM, from 30 to 40 on SM
  // 1.
  expect_parts(slot_time({block(0, 0, 40), block(0, 0, 50), block(0, 45, 100), block(0, 60, 100)}, 1, 2, 1),
               1, {.resident = 185.0 / 200, .launch = 185.0 / 200, .turnover = 15.0 / 200});
  expect_parts(slot_time({block(0, 0, 100), block(1, 0, 30), block(1, 40, 100)}, 2, 1, 0.25), 0.25,
               {.resident = 0.25, .launch = 0.25 * 190 / 200, .turnover = 0.25 * 10 / 200});
}

TEST(SlotTime, TurnoverIsNegativeIfASuccessorStartsEarly) {
  expect_parts(slot_time({block(0, 0, 60), block(0, 50, 100)}, 1, 1, 0.5), 0.5,
               {.resident = 0.55, .launch = 0.55, .turnover = -0.05});
}

TEST(SlotTime, SeparatesTailFromImbalanceAtAnSmsLastEnd) {
  // One block more than two waves: SM 1 waits from 80 on, one place of SM 0 since 80.
  expect_parts(
      slot_time({block(0, 0, 40), block(0, 0, 40), block(1, 0, 40), block(1, 0, 40), block(0, 40, 80),
                 block(0, 40, 80), block(1, 40, 80), block(1, 40, 80), block(0, 80, 100)},
                2, 2, 1),
      1, {.resident = 340.0 / 360, .launch = 0.85, .tail = 0.05, .imbalance = 0.1});
}

TEST(SlotTime, UnusedSlotsAreIdleSmsAndSmallGrids) {
  // Of 4 SMs with 2 places two have no block, by whatever number, and one has one.
  expect_parts(slot_time({block(7, 0, 100), block(7, 0, 100), block(140, 0, 100)}, 4, 2, 0.5), 0.5,
               {.resident = 0.375, .launch = 0.5 * 3 / 8, .unused = 0.5 * 5 / 8});
}

TEST(SlotTime, PartsAddUpForRandomRecords) {
  std::mt19937 random(1);
  const auto below = [&](std::uint64_t n) {
    return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random);
  };
  for (int launch = 0; launch < 200; ++launch) {
    std::vector<CensusRecord> records;
    for (std::uint64_t n = 1 + below(60); n > 0; --n) {
      const std::uint64_t begin = below(1000);
      records.push_back(block(static_cast<std::uint32_t>(below(6)), begin, begin + 1 + below(300)));
    }
    const auto a = slot_time(records, 8, 3, 0.75);
    std::ranges::shuffle(records, random);
    ASSERT_TRUE(a.has_value());
    expect_parts(slot_time(records, 8, 3, 0.75), 0.75, *a);
    EXPECT_GE(std::min({a->ramp, a->tail, a->imbalance, a->unused}), 0);
    EXPECT_GE(a->resident, a->launch - 1e-12) << "counted over less time";
  }
}

TEST(SlotTime, BoundsRampAndTurnoverByTheDispatchTime) {
  // Both places are filled within 10 and again 5 after an end, but the newer block only gets a turn once the
  // older ended.
  const std::vector<CensusRecord> records{block(0, 0, 100), block(0, 90, 200), block(0, 190, 300),
                                          block(0, 290, 400)};
  expect_parts(slot_time(records, 1, 2, 1), 1,
               {.resident = 430.0 / 800,
                .launch = 430.0 / 800,
                .ramp = 90.0 / 800,
                .turnover = 180.0 / 800,
                .tail = 100.0 / 800});
  expect_parts(slot_time(records, 1, 2, 1, {.ramp_ns = 10, .turnover_ns = 5}), 1,
               {.resident = 680.0 / 800,
                .launch = 680.0 / 800,
                .ramp = 10.0 / 800,
                .turnover = 10.0 / 800,
                .tail = 100.0 / 800});
}

TEST(SlotTime, DispatchIsThe90thPercentile) {
  std::vector<CensusRecord> records;
  for (std::uint32_t sm = 0; sm < 10; ++sm) {  // the last SM is late, and slow
    const std::uint64_t late = sm == 9 ? 500 : 10 * sm;
    records.push_back(block(sm, late, 1000));
    records.push_back(block(sm, sm == 9 ? 1900 : 1200 + sm, 2000));
  }
  const Dispatch seen = dispatch_of(records, 1);
  EXPECT_EQ(seen.ramp_ns, 80);
  EXPECT_EQ(seen.turnover_ns, 208);
  EXPECT_EQ(dispatch_of({}, 1).turnover_ns, Dispatch{}.turnover_ns) << "nothing seen, nothing corrected";
}

TEST(SlotTime, ReturnsNothingForIncompleteRecords) {
  const CensusRecord never{.begin_ns = ~0ULL, .end_ns = ~0ULL, .sm = ~0U, .pad = ~0U};
  EXPECT_FALSE(slot_time({}, 2, 2, 1));
  EXPECT_FALSE(slot_time({block(0, 0, 100), never}, 2, 2, 1));
  EXPECT_FALSE(slot_time({block(0, 100, 0)}, 2, 2, 1));
  EXPECT_FALSE(slot_time({block(0, 0, 0), block(1, 0, 0)}, 2, 2, 1)) << "less than a step of the timer";
  EXPECT_FALSE(slot_time({block(0, 0, 9), block(1, 0, 9), block(2, 0, 9)}, 2, 2, 1))
      << "more SMs than there are";
}

}  // namespace
}  // namespace occbench
