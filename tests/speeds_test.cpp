// SPDX-License-Identifier: Apache-2.0
// How often launches of one speed are taken for two, and how often two are found.
#include "harness/statistics/speeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/random_times.hpp"

namespace occbench::statistics {
namespace {

/// The share of 2,000 series of `n` launches in which two speeds are found.
double found_in(int n, Random& random, const std::function<double(Random&)>& time) {
  constexpr int trials = 2000;
  int found = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i) samples.push_back(time(random));
    found += two_speeds(samples).has_value() ? 1 : 0;
  }
  return found / static_cast<double>(trials);
}

TEST(BimodalTimes, FalsePositivesAreAtMost5Percent) {
  // Each scatters by several percent: what scatters less is never told, as 1 % must lie between.
  const std::vector<std::pair<std::string, std::function<double(Random&)>>> kinds{
      {"normal", [](Random& r) { return 100 + 4 * normal(r); }},
      {"flat", [](Random& r) { return 100 + 10 * std::uniform_real_distribution<double>()(r); }},
      {"skewed", [](Random& r) { return 100 + 4 * std::exp(normal(r)); }},
      {"outliers",
       [](Random& r) { return 100 + normal(r) + (happens(r, 0.05) ? 20 * std::abs(normal(r)) : 0); }}};
  Random random(3);
  for (const auto& [name, time] : kinds)
    for (const int n : {12, 15, 21, 30, 90}) {
      const double found = found_in(n, random, time);
      std::printf("%-9s %2d launches: %4.1f %%\n", name.c_str(), n, 100 * found);
      EXPECT_LE(found, 0.05) << name << ", " << n;
    }
}

TEST(BimodalTimes, DetectsTwoModes) {
  Random random(4);
  for (const double share : {0.3, 0.5})
    for (const int n : {15, 30, 90}) {
      const double found =
          found_in(n, random, [&](Random& r) { return 100 + 0.4 * normal(r) + (happens(r, share) ? 4 : 0); });
      std::printf("share %.1f, %2d launches: %4.1f %%\n", share, n, 100 * found);
      EXPECT_GE(found, 0.8) << share << ", " << n;
    }
}

TEST(BimodalTimes, ReportsTimesAndShares) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) samples.push_back(i % 4 == 1 ? 1.06 + 1e-4 * i : 1.0 + 1e-4 * i);
  const auto found = two_speeds(samples);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->fast, 1.001, 1e-3);
  EXPECT_NEAR(found->slow, 1.061, 1e-3);
  EXPECT_DOUBLE_EQ(found->slow_share, 0.25);
  EXPECT_FALSE(found->in_streaks);
}

TEST(BimodalTimes, DistinguishesStreaksFromAMix) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) samples.push_back((i < 12 ? 1.0 : 1.06) + 1e-4 * (i % 3));
  ASSERT_TRUE(two_speeds(samples));
  EXPECT_TRUE(two_speeds(samples)->in_streaks);
  Random random(5);
  int spells = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::ranges::shuffle(samples, random);
    spells += two_speeds(samples)->in_streaks ? 1 : 0;
  }
  EXPECT_LE(spells, 2000 / 50);  // 1 % at most, and chance
}

TEST(BimodalTimes, IgnoresFewCloseOrRareModes) {
  EXPECT_FALSE(two_speeds(std::vector{1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0}));
  std::vector<double> samples(20, 1.0);
  EXPECT_FALSE(two_speeds(samples));
  samples[3] = samples[8] = 2;
  EXPECT_FALSE(two_speeds(samples)) << "two of twenty";
  samples[12] = 2;
  EXPECT_TRUE(two_speeds(samples));
  for (double& x : samples) x = x > 1 ? 1.005 : 1;
  EXPECT_FALSE(two_speeds(samples)) << "0.5 % apart";
}

}  // namespace
}  // namespace occbench::statistics
