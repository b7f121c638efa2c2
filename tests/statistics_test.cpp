// SPDX-License-Identifier: Apache-2.0
#include "harness/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace occbench::statistics {
namespace {

/// 1, 2, ... n in random order: the value is the rank.
std::vector<double> ranks(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  std::ranges::shuffle(values, std::mt19937(1));
  return values;
}

TEST(Median, HandlesOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector{3.0}), 3);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 2.0, 9.0}), 3);
}

TEST(Median, RequiresASample) {
  EXPECT_THROW(static_cast<void>(median({})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(median_interval({})), std::invalid_argument);
}

TEST(Quantile, UsesTheNearestRank) {
  EXPECT_EQ(quantile(ranks(10), 0.1), 1);
  EXPECT_EQ(quantile(ranks(10), 0.9), 9);
  EXPECT_EQ(quantile(ranks(11), 0.1), 2);
  EXPECT_EQ(quantile(ranks(36), 0.9), 33);
  EXPECT_EQ(quantile(ranks(3), 0.0), 1);
  EXPECT_EQ(quantile(ranks(3), 1.0), 3);
  EXPECT_THROW(static_cast<void>(quantile({}, 0.5)), std::invalid_argument);
}

TEST(MedianInterval, MatchesPublishedRanks) {  // Conover, Practical Nonparametric Statistics, 3.2
  struct Entry {
    std::size_t n;
    double low, high;
  };
  for (const auto& [n, low, high] :
       {Entry{6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {12, 3, 10}, {15, 4, 12}, {20, 6, 15}}) {
    const MedianInterval interval = median_interval(ranks(n));
    EXPECT_EQ(interval.low, low) << n;
    EXPECT_EQ(interval.high, high) << n;
    EXPECT_EQ(interval.median, (static_cast<double>(n) + 1) / 2) << n;
  }
}

TEST(MedianInterval, RequiresSixSamplesFor95Percent) {
  EXPECT_EQ(min_samples(0.95), 6u);
  EXPECT_EQ(min_samples(0.99), 8u);
  const MedianInterval all = median_interval(ranks(5));  // short of 95 %: the whole range
  EXPECT_EQ(all.low, 1);
  EXPECT_EQ(all.high, 5);
}

TEST(MedianInterval, HalfWidthIsRelativeToTheMedian) {
  EXPECT_DOUBLE_EQ((MedianInterval{.median = 4, .low = 3.9, .high = 4.3}.relative_half_width()), 0.05);
}

TEST(MedianInterval, WideningCoversTimerRounding) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> noise(-0.1, 0.1), truth(1000, 1001);
  constexpr int draws = 2000;
  int covered = 0, before = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const double median = truth(random);
    std::vector<double> samples(9);
    for (double& s : samples) s = std::floor(median + noise(random));
    const MedianInterval interval = median_interval(samples), held = interval.widened_by(1);
    before += interval.low <= median && median <= interval.high ? 1 : 0;
    covered += held.low <= median && median <= held.high ? 1 : 0;
  }
  EXPECT_EQ(covered, draws);
  EXPECT_LT(before, draws / 2);  // what it is for
}

TEST(MedianInterval, CoversTheTrueMedianAtItsConfidence) {
  std::mt19937_64 random(20);
  std::exponential_distribution<double> skewed(1.0);
  const double truth = std::log(2.0);
  for (const std::size_t n : {6, 9, 12, 31}) {
    constexpr int draws = 10'000;
    int covered = 0;
    std::vector<double> samples(n);
    for (int draw = 0; draw < draws; ++draw) {
      for (double& s : samples) s = skewed(random);
      const MedianInterval interval = median_interval(samples);
      covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
    }
    EXPECT_GE(covered, draws * 0.95) << n;
  }
}

}  // namespace
}  // namespace occbench::statistics
