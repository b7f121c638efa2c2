// SPDX-License-Identifier: Apache-2.0
// Curves made by known laws, and what is read off them.
#include "harness/statistics/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace occbench::fit {
namespace {

constexpr double cycles_per_s = 2e9;

/// A curve whose throughput per cycle is law(warps), each point +- `precision` of it.
std::vector<Point> curve(const std::vector<double>& warps, const std::function<double(double)>& law,
                         double precision = 0) {
  std::vector<Point> points;
  for (const double w : warps) {
    const double rate = law(w);
    const double per_s = rate * cycles_per_s;
    points.push_back({w, per_s, per_s * (1 - precision), per_s * (1 + precision), rate});
  }
  return points;
}

/// Proportional up to `best` at `knee` warps, flat from there on.
std::function<double(double)> roof(double knee, double best = 100) {
  return [=](double w) { return best * std::min(1.0, w / knee); };
}

const std::vector<double> usual{4, 8, 12, 16, 20, 24, 32, 40, 48, 64};

void expect(const std::optional<Estimate>& e, double value, double low, double high) {
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->known, Known::both_ends);
  EXPECT_NEAR(e->value, value, 1e-9 * value);
  EXPECT_NEAR(e->low, low, 1e-9 * value);
  EXPECT_NEAR(e->high, high, 1e-9 * value);
}

TEST(WarpsFor, AreExactOnALinearCurve) {
  const auto points = curve(usual, roof(24));
  expect(warps_for(points, 0.90), 21.6, 20, 24);
  expect(warps_for(points, 0.5), 12, 8, 12);  // a point that is there itself
  expect(warps_for(points, 0.99), 23.76, 20, 24);
}

TEST(WarpsFor, IntervalExtendsToSignificantPoints) {
  // +- 10 % of the points and of the peak: 12 warps are surely below 75 %, 24 surely there, 16 and 20 may be
  // either.
  expect(warps_for(curve(usual, roof(24), 0.02), 0.90), 21.6, 20, 24);
  expect(warps_for(curve(usual, roof(24), 0.1), 0.75), 18, 12, 24);
  const auto open = warps_for(curve(usual, roof(24), 0.1), 0.90);  // no point is surely at 90 % of the peak
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->known, Known::at_least);
  EXPECT_EQ(open->low, 16);
}

TEST(WarpsFor, UseTheFirstCrossingOfADippingCurve) {
  // Whole warps on each of four schedulers that hide with four: 20 warps take as long as 32.
  const auto points = curve(usual, [](double w) { return 100 * w / (16 * std::ceil(w / 16)); });
  expect(warps_for(points, 0.90), 14.4, 12, 16);
  EXPECT_NEAR(*min_share_after(points, 0.90), 0.625, 1e-12);
}

TEST(WarpsFor, AreRelativeToThePeakOfAFallingCurve) {
  const std::vector<Point> points =
      curve(usual, [](double w) { return w <= 16 ? 100 * w / 16 : 100 - w / 2; });
  expect(warps_for(points, 0.95), 15.2, 12, 16);
  EXPECT_NEAR(*min_share_after(points, 0.95), 0.68, 1e-12);
}

TEST(WarpsFor, AreALowerBoundOnARisingCurve) {
  const auto points = curve(usual, roof(1000));
  for (const double share : {0.90, 0.95, 0.99}) {
    const auto e = warps_for(points, share);
    ASSERT_TRUE(e.has_value());
    EXPECT_EQ(e->known, Known::at_least);
    EXPECT_EQ(e->low, 48);
  }
  expect(warps_for(points, 0.5), 32, 24, 32);
  EXPECT_FALSE(min_share_after(points, 0.9).has_value());
}

TEST(WarpsFor, AreAnUpperBoundIfTheFirstPointSuffices) {
  const auto e = warps_for(curve(usual, roof(3)), 0.99);
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->known, Known::at_most);
  EXPECT_EQ(e->high, 4);
}

TEST(WarpsFor, ReturnNothingForOnePoint) {
  EXPECT_FALSE(warps_for(curve({16}, roof(4)), 0.9).has_value());
  EXPECT_FALSE(warps_for({}, 0.9).has_value());
  EXPECT_FALSE(min_share_after(curve({16}, roof(4)), 0.9).has_value());
  EXPECT_FALSE(min_share_after({}, 0.9).has_value());
}

TEST(LatencyCycles, FollowsLittlesLawOnTheLinearPart) {
  // 64 under way per warp, 4 cycles each: 16 per cycle and warp, up to 16 warps.
  const auto points = curve(usual, roof(16, 256), 0.01);
  expect(latency_cycles(points, 64), 4, 4 / 1.01, 4 / 0.99);
}

TEST(LatencyCycles, ExcludesQueueing) {
  // 100 cycles and one more for each warp: 4 and 8 warps are within 5 % of each other, 12 are not.
  const auto points = curve(usual, [](double w) { return 32 * w / (100 + w); });
  expect(latency_cycles(points, 32), 106, 104, 108);
}

TEST(LatencyCycles, IsAnUpperBoundFromASinglePoint) {
  for (const auto& points : {curve(usual, roof(4, 256)), curve({4}, roof(4, 256))}) {
    const auto e = latency_cycles(points, 512);
    ASSERT_TRUE(e.has_value());
    EXPECT_EQ(e->known, Known::at_most);
    EXPECT_EQ(e->high, 8);
  }
}

TEST(LatencyCycles, RequiresRequestsInFlight) {
  EXPECT_FALSE(latency_cycles(curve(usual, roof(4)), 0).has_value());
  EXPECT_FALSE(latency_cycles({}, 32).has_value());
}

TEST(ReplacedWarps, EqualTheIlpWhenLatencyBound) {
  expect(replaced_warps(curve(usual, roof(48)), curve(usual, roof(24))), 2, 2, 2);
}

TEST(ReplacedWarps, UseMedianAndRangeBelowSaturation) {
  // 10 warps of the first do what 4, 8 and 12 do, at 2.5, 2 and 1.5 to one; 16 have come to 90 %.
  const std::vector<Point> many =
      curve({4, 8, 12, 16, 20}, [](double w) { return w > 12 ? 100 : w * (3 - w / 8) * 100 / 64; });
  expect(replaced_warps(curve(usual, roof(64)), many), 2, 1.5, 2.5);
}

TEST(ReplacedWarps, WidenWithBothCurvesIntervals) {
  const auto e = replaced_warps(curve(usual, roof(48), 0.01), curve(usual, roof(24), 0.01));
  expect(e, 2, 2 * 0.99 / 1.01, 2 * 1.01 / 0.99);
}

TEST(ReplacedWarps, IntervalCoversABendBetweenSparsePoints) {
  const auto bend = [](double w) { return 100 * w / (w + 16); };
  const auto one = curve({4, 8, 16, 32, 64}, bend);
  for (const double worth : {1.3, 1.5, 1.77, 2.6, 3.1}) {
    const auto many = curve({4, 8, 12, 16, 20}, [&](double w) { return bend(worth * w); });
    const auto e = replaced_warps(one, many);
    ASSERT_TRUE(e.has_value());
    EXPECT_EQ(e->known, Known::both_ends);
    EXPECT_LE(e->low, worth);
    EXPECT_GE(e->high, worth);
    EXPECT_NEAR(e->value, worth, 0.05 * worth);
  }
}

TEST(ReplacedWarps, IgnorePointsAfterADip) {
  // At 12 warps it is back at three quarters, where one warp is worth no more than one: not a rate of
  // exchange.
  const auto one = curve(usual, roof(16));
  const auto many = curve({4, 8, 12, 16}, [](double w) { return w == 4 ? 50.0 : w == 12 ? 75.0 : 100.0; });
  expect(replaced_warps(one, many), 2, 2, 2);
}

TEST(ReplacedWarps, AreALowerBoundIfTheFirstPointSaturates) {
  const auto e = replaced_warps(curve(usual, roof(16)), curve(usual, roof(2)));
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->known, Known::at_least);
  EXPECT_NEAR(e->low, 0.9 * 16 / 4, 1e-9);
}

TEST(ReplacedWarps, ReturnNothingWithoutComparablePoints) {
  EXPECT_FALSE(replaced_warps(curve(usual, roof(4)), curve(usual, roof(2))).has_value());
  EXPECT_FALSE(replaced_warps(curve(usual, roof(16)), {}).has_value());
  EXPECT_FALSE(replaced_warps({}, curve(usual, roof(16))).has_value());
  EXPECT_FALSE(replaced_warps(curve({32, 64}, roof(64)), curve({1, 2}, roof(64))).has_value());
}

TEST(Fits, RejectInvalidCurves) {
  auto points = curve(usual, roof(16));
  std::ranges::reverse(points);
  EXPECT_THROW(static_cast<void>(warps_for(points, 0.9)), std::invalid_argument);
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    points = curve(usual, roof(16));
    points[3].throughput = wrong;
    EXPECT_THROW(static_cast<void>(min_share_after(points, 0.9)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(latency_cycles(points, 32)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(replaced_warps(points, points)), std::invalid_argument);
  }
}

}  // namespace
}  // namespace occbench::fit
