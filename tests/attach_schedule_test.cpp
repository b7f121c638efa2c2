// SPDX-License-Identifier: Apache-2.0
// The order in which arms are drawn.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "harness/attach/preload/flat_map.hpp"
#include "harness/attach/preload/schedule.hpp"

namespace occbench::attach {
namespace {

TEST(AttachSchedule, DrawsEachArmOncePerBlock) {
  Schedule schedule({.seed = 3, .precision = 1e-9, .warm_up = 2}, 77, {1, 1, 0.75, 0.5, 0.25});
  Budget budget(1e9);
  for (int i = 0; i < 2; ++i) {
    const auto draw = schedule.next(budget);
    EXPECT_TRUE(draw.is_warm_up);
    schedule.add_time(draw, 100, budget);
  }
  for (int block = 0; block < 10; ++block) {
    std::map<int, int> seen;
    for (int i = 0; i < 5; ++i) {
      const auto draw = schedule.next(budget);
      EXPECT_TRUE(draw.of_block);
      ++seen[draw.arm];
      schedule.add_time(draw, 100 + block, budget);
    }
    EXPECT_EQ(seen.size(), 5U);
  }
}

/// Of 1,000 launches with these times in rotation, few are changed.
void draws_few(const std::vector<double>& times) {
  Schedule schedule({.warm_up = 1}, 5, {1, 1, 0.5});
  Budget budget(1e9);
  int changed = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto draw = schedule.next(budget);
    changed += draw.arm == untouched ? 0 : 1;
    schedule.add_time(draw, times[i % times.size()], budget);
  }
  EXPECT_TRUE(schedule.is_known());
  EXPECT_LT(changed, 50);
}

TEST(AttachSchedule, StopsSamplingAKnownArm) { draws_few({100}); }

TEST(AttachSchedule, StopsSamplingABimodalArm) { draws_few({100, 200}); }

TEST(AttachSchedule, ExtraTimeStaysWithinTheBudget) {
  for (const auto& [share, timing_us] : {std::pair{0.02, 0.0}, {0.2, 0.0}, {0.02, 3.0}, {0.2, 3.0}}) {
    Schedule schedule({.precision = 1e-9, .warm_up = 1, .max_samples = 100'000}, 5, {1, 1, 0.75, 0.5, 0.25});
    Budget budget(share, timing_us);
    double natural = 0, extra = 0;
    for (int i = 0; i < 20'000; ++i) {
      const auto draw = schedule.next(budget);
      const double warps[] = {1, 1, 0.75, 0.5, 0.25};
      const double time = (90 + i % 7) / warps[draw.arm];                       // never known well enough
      if (draw.of_block || i % 32 == 0) schedule.add_time(draw, time, budget);  // as launches are timed
      natural += 100;
      extra += (draw.arm == untouched ? 0 : time - 100) + (draw.of_block ? timing_us : 0);
    }
    EXPECT_LE(extra, share * natural);
    EXPECT_GT(extra, 0.1 * share * natural);
  }
}

TEST(AttachSchedule, ReservesTheWorstCaseTimeOfFewerWarps) {
  Schedule schedule({.precision = 1e-9, .warm_up = 1}, 5, {1, 1, 0.25});
  Budget budget(1e9);
  schedule.add_time(schedule.next(budget), 100, budget);
  for (int i = 0; i < 3; ++i) {
    const auto draw = schedule.next(budget);
    EXPECT_EQ(draw.reserved_us, draw.arm == first_level ? 300 : 0);
    schedule.add_time(draw, 100, budget);
  }
}

TEST(AttachSchedule, DoesNotStarveExpensiveKernels) {
  constexpr double warps[] = {1, 1, 0.75, 0.5, 0.25};
  constexpr int kernels = 41;  // the first is thirty times as long as each of the others
  std::vector<Schedule> schedules;
  for (int k = 0; k < kernels; ++k)
    schedules.emplace_back(Plan{.precision = 1e-9, .warm_up = 1}, static_cast<std::uint64_t>(k),
                           std::vector<double>(std::begin(warps), std::end(warps)));
  Budget budget(0.05, 3);
  std::map<int, int> draws;
  for (int step = 0; step < 3000; ++step)
    for (int k = 0; k < kernels; ++k) {
      const auto draw = schedules[static_cast<std::size_t>(k)].next(budget);
      const double time = (k == 0 ? 300 : 10) * (0.9 + 0.02 * (step % 7)) / warps[draw.arm];
      if (k == 0 && draw.of_block) ++draws[draw.arm];
      if (draw.of_block || step % 32 == 0)  // as launches are timed
        schedules[static_cast<std::size_t>(k)].add_time(draw, time, budget);
    }
  EXPECT_GE(draws[first_level + 2], 6);  // 0 if the budget served them first come, first served
}

TEST(AttachSchedule, RetriesOrClosesARefusedArm) {
  Schedule schedule({.warm_up = 1}, 5, {1, 1, 0.5});
  Budget budget(1e9);
  schedule.add_time(schedule.next(budget), 100, budget);
  auto draw = schedule.next(budget);
  schedule.refuse(draw, budget, false);
  EXPECT_EQ(schedule.next(budget).arm, draw.arm);
  for (int i = 0; i < 300; ++i) {
    draw = schedule.next(budget);
    if (draw.arm == first_level)
      schedule.refuse(draw, budget, true);
    else
      schedule.add_time(draw, 100, budget);
  }
  EXPECT_TRUE(schedule.is_known());
}

TEST(AttachFlatMap, FindsEveryAddedKey) {
  std::vector<int> values(5'000);
  FlatMap<int> map;
  EXPECT_EQ(map.find(7), nullptr);
  // Hashes of any kind: the same in their low bits, the highest, 0.
  const auto key = [](std::size_t i) { return i % 3 == 0 ? i << 40 : i % 3 == 1 ? ~i : i; };
  for (std::size_t i = 0; i < values.size(); ++i) map.add(key(i), &values[i]);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(map.find(key(i)), &values[i]);
  EXPECT_EQ(map.find(std::uint64_t{1} << 39), nullptr);
  map.clear();
  EXPECT_EQ(map.find(key(1)), nullptr);
}

}  // namespace
}  // namespace occbench::attach
