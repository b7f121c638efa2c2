// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/l1.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace {

using occbench::theory::L1;

/// Loads the line, and brings it at once if it is not there.
bool load(L1& l1, std::size_t line) {
  if (l1.look_up(line)) return true;
  l1.request(line);
  l1.fill(line);
  return false;
}

/// How many of the lines hit, in turn.
std::size_t hits_of(L1& l1, const std::vector<std::size_t>& lines) {
  std::size_t hits = 0;
  for (const std::size_t line : lines) hits += load(l1, line);
  return hits;
}

std::vector<std::size_t> in_order(std::size_t first, std::size_t count) {
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < count; ++i) lines.push_back(first + i);
  return lines;
}

// Room for 168 lines is what an H200 has at a carve-out of 100 %, for 936 at 50 %: a chain of so many never
// misses.
TEST(L1, WorkingSetWithinCapacityAlwaysHits) {
  for (const std::size_t room : {std::size_t{168}, std::size_t{936}}) {
    L1 l1(room, 12345);
    EXPECT_EQ(hits_of(l1, in_order(0, room)), 0U);
    for (int lap = 0; lap < 3; ++lap) EXPECT_EQ(hits_of(l1, in_order(0, room)), room);
  }
}

TEST(L1, OneLineOverCapacityMisses) {
  L1 l1(168, 12345);
  for (int lap = 0; lap < 20; ++lap) hits_of(l1, in_order(0, 169));
  EXPECT_LT(hits_of(l1, in_order(0, 169)), 169U);
}

// Groups that evicted each other on an H200, and what remains of them without one.
TEST(L1, FiveLinesOfASetEvictEachOther) {
  const std::array<std::vector<std::size_t>, 3> groups{{{0, 6207, 341537, 406336, 217554},
                                                        {5000, 269099, 299505, 181507, 185915},
                                                        {70000, 131890, 94376, 421458, 504484}}};
  for (const auto& group : groups) {
    L1 five(936, 1);
    for (int lap = 0; lap < 5; ++lap) EXPECT_EQ(hits_of(five, group), 0U);
    L1 four(936, 1);
    const std::vector<std::size_t> less(group.begin(), group.end() - 1);
    hits_of(four, less);
    EXPECT_EQ(hits_of(four, less), 4U);
  }
}

// On an H200 at a carve-out of 14 % such a line was still there after twice as many lines as fit, in 99 of
// 100 trials.
TEST(L1, HitLineSurvivesStreamingLoads) {
  L1 l1(1736, 7);
  load(l1, 5);
  EXPECT_TRUE(load(l1, 5));
  load(l1, 6);
  hits_of(l1, in_order(100'000, 3500));
  EXPECT_TRUE(l1.look_up(5));
  EXPECT_FALSE(l1.look_up(6));
}

// What is on its way takes room: lines of others go before it comes.
TEST(L1, LinesInFlightEvictOthers) {
  L1 l1(168, 3);
  hits_of(l1, in_order(0, 168));
  for (const std::size_t line : in_order(512, 64)) l1.request(line);
  std::size_t left = 0;
  for (const std::size_t line : in_order(0, 168)) left += l1.look_up(line);
  EXPECT_EQ(left, 168U - 64U);
}

TEST(L1, DuplicateRequestsFillOneLine) {
  L1 l1(168, 3);
  l1.request(9);
  l1.request(9);
  l1.fill(9);
  l1.fill(9);
  EXPECT_TRUE(l1.look_up(9));
  EXPECT_EQ(hits_of(l1, in_order(0, 168)), 1U);
  EXPECT_EQ(hits_of(l1, in_order(0, 168)), 168U);
}

TEST(L1, CapacityGrowsWithTheHitRate) {
  using occbench::theory::capacity_from_hit_rate;
  double before = 0;
  for (const double hits : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    const double room = capacity_from_hit_rate(256, hits);
    EXPECT_GT(room, before);
    EXPECT_LT(room, 256);
    before = room;
  }
  EXPECT_GT(capacity_from_hit_rate(256, 1), 250);
  EXPECT_LT(capacity_from_hit_rate(256, 0), 130);
  // Finer than a line.
  EXPECT_LT(capacity_from_hit_rate(256, 0.3), capacity_from_hit_rate(256, 0.301));
}

}  // namespace
