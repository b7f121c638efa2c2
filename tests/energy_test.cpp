// SPDX-License-Identifier: Apache-2.0
// A launch's energy from a counter that moves in steps.
#include "harness/measure/energy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace occbench {
namespace {

/// Of a board that draws 100 W until `load_s` and 500 W from then on; launches take 1 ms. Its counter moves
/// each 0.1 s, first at `phase_s`, and is read each millisecond.
std::optional<Energy> found(double phase_s, double load_s = 0) {
  EnergySteps steps(0.15, 0.5, 600);
  for (int ms = 0; ms < 2000; ++ms) {
    const double now = ms * 1e-3;
    const double counted_until = phase_s + 0.1 * std::floor((now - phase_s) / 0.1 + 1e-9);
    const double drawn = 100 * counted_until + 400 * std::max(0.0, counted_until - load_s);
    if (const auto energy = steps.take(drawn, now, static_cast<std::uint64_t>(ms))) return energy;
  }
  return {};
}

TEST(EnergySteps, MeasurePowerAtAnyPhaseOfTheCounter) {
  for (int i = 0; i < 20; ++i) {
    const auto energy = found(0.005 * i);
    ASSERT_TRUE(energy);
    EXPECT_NEAR(energy->power_w, 500, 1) << "phase " << 5 * i << " ms";
    EXPECT_NEAR(energy->per_launch_j, 0.5, 0.001);
  }
}

TEST(EnergySteps, ExcludeTheWarmUp) { EXPECT_NEAR(found(0.07, 0.04)->power_w, 500, 1); }

/// 800 W at first, and what it is brought down to after 0.7 s.
std::optional<Energy> found_under_limit(double limit_w, double then_w) {
  EnergySteps steps(0.15, 0.5, limit_w);
  for (int ms = 0; ms < 2000; ++ms) {
    const double counted_until = 0.1 * std::floor(ms / 100.0);
    const double drawn = 800 * std::min(counted_until, 0.7) + then_w * std::max(0.0, counted_until - 0.7);
    if (const auto energy = steps.take(drawn, ms * 1e-3, static_cast<std::uint64_t>(ms))) return energy;
  }
  return {};
}

TEST(EnergySteps, WaitUntilPowerIsWithinTheLimit) {
  EXPECT_NEAR(found_under_limit(700, 690)->power_w, 690, 1);
  EXPECT_NEAR(found_under_limit(HUGE_VAL, 690)->power_w, 800, 1);
  EXPECT_FALSE(found_under_limit(600, 690));
}

TEST(EnergySteps, ReturnNothingForAStuckCounter) {
  EnergySteps steps(0.15, 0.5, 600);
  for (int ms = 0; ms < 2000; ++ms) EXPECT_FALSE(steps.take(1234, ms * 1e-3, static_cast<std::uint64_t>(ms)));
}

}  // namespace
}  // namespace occbench
