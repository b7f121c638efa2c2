// SPDX-License-Identifier: Apache-2.0
// Tails and the test of two samples, beside values of scipy 1.14 (stats.t.sf, stats.mannwhitneyu).
#include "harness/statistics/significance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace occbench::statistics {
namespace {

TEST(Significance, StudentTailMatchesTables) {
  EXPECT_NEAR(student_tail(2.306004135204166, 8), 0.025, 1e-15);
  EXPECT_NEAR(student_tail(0, 8), 0.5, 0.01);
  // Of 2 degrees of freedom in closed form: (1 - t / sqrt(2 + t^2)) / 2.
  for (const double t : {0.5, 3.0, 20.0})
    EXPECT_NEAR(student_tail(t, 2) / ((1 - t / std::sqrt(2 + t * t)) / 2), 1, 1e-10) << t;
  EXPECT_NEAR(normal_tail(1.959963984540054), 0.025, 1e-15);
}

TEST(Significance, MannWhitneyIsExactForSmallSamples) {
  const std::vector<double> low{1, 2, 3};
  const std::vector<double> high{4, 5, 6, 7};
  EXPECT_DOUBLE_EQ(mann_whitney(low, high), 2.0 / 35);  // of 35 ways to pick three of seven ranks
  EXPECT_DOUBLE_EQ(mann_whitney(high, low), 2.0 / 35);
  EXPECT_DOUBLE_EQ(mann_whitney(std::vector<double>{1, 4}, std::vector<double>{2, 3}), 1);
  EXPECT_TRUE(std::isnan(mann_whitney({}, low)));
}

TEST(Significance, TiesAndLargeSamplesUseTheNormalApproximation) {
  // U = 0 of 3 and 4 with one tie of two: deviation sqrt(12 / 12 * (8 - 6 / 42)).
  const std::vector<double> low{1, 1, 3};
  const std::vector<double> high{4, 5, 6, 7};
  EXPECT_NEAR(mann_whitney(low, high), 2 * normal_tail(5.5 / std::sqrt(8 - 6.0 / 42)), 1e-15);
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) {
    a.push_back(i);
    b.push_back(100 + i);
  }
  EXPECT_NEAR(mann_whitney(a, b), 6.8e-8, 1e-9);
}

}  // namespace
}  // namespace occbench::statistics
