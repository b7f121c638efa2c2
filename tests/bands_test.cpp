// SPDX-License-Identifier: Apache-2.0
// Parameters are drawn from their ranges alone, and a band is as wide as these and the model's own error make
// it.
#include "harness/theory/prediction/bands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/quiet_machine.hpp"

namespace occbench::theory {
namespace {

constexpr std::size_t sets = 8;

TEST(Bands, SamplesParameterRangesEvenly) {
  const Parameters values = quiet_parameters();
  Ranges ranges;
  ranges.low.l2_latency_cycles = 200;
  ranges.high.l2_latency_cycles = 300;
  ranges.high.sm_clock_hz = 1.2e9;
  const auto all = sample_parameters(values, ranges, sets);
  ASSERT_EQ(all.size(), sets);
  std::vector<double> latencies, clocks;
  for (const Parameters& p : all) {
    latencies.push_back(p.l2_latency_cycles);
    clocks.push_back(p.sm_clock_hz);
    EXPECT_EQ(p.l1_latency_cycles, values.l1_latency_cycles) << "has no range";
  }
  std::ranges::sort(latencies);
  const double step = 70.0 / 4, up = 30.0 / 4;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(latencies[i], 200 + step * (static_cast<double>(i) + 0.5), 1e-9);
    EXPECT_NEAR(latencies[i + 4], 270 + up * (static_cast<double>(i) + 0.5), 1e-9);
  }
  EXPECT_EQ(std::ranges::count(clocks, 1e9), 4) << "no lower end is known: half stay where they are";
  EXPECT_NEAR(*std::ranges::max_element(clocks), 1.175e9, 1);
  EXPECT_EQ(sample_parameters(values, ranges, sets).front().l2_latency_cycles, all.front().l2_latency_cycles);
}

TEST(Bands, WithoutRangesTheBandIsTheModelError) {
  const Prediction said{.time_s = 1e-3, .bound = Bound::latency};
  const std::vector<double> same(sets, 1e-3);
  const Band found = band(said, same);
  EXPECT_NEAR(std::log(found.high_s / 1e-3), std::log(10) * model_error(Bound::latency), 1e-9);
  EXPECT_NEAR(std::log(found.low_s / 1e-3), -std::log(10) * model_error(Bound::latency), 1e-9);
}

TEST(Bands, BandWidensWithSpreadAndContainsThePrediction) {
  const Prediction said{.time_s = 1e-3, .bound = Bound::pipe};
  const std::vector<double> same(sets, 1e-3), apart{0.8e-3, 0.9e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1.1e-3, 1.2e-3};
  const std::vector<double> slower(sets, 2e-3);
  const Band narrow = band(said, same), wide = band(said, apart), far = band(said, slower);
  EXPECT_LT(wide.low_s, 0.85e-3);
  EXPECT_GT(wide.high_s, 1.15e-3);
  EXPECT_GT(wide.high_s / wide.low_s, narrow.high_s / narrow.low_s);
  EXPECT_LE(far.low_s, said.time_s) << "all drawn times are longer";
  EXPECT_GT(far.high_s, 2e-3);
}

}  // namespace
}  // namespace occbench::theory
