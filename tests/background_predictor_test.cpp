// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/background_predictor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace occbench {
namespace {

std::vector<Case> cases(int count) {
  std::vector<Case> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)].id = std::to_string(i);
  return all;
}

/// What a case is predicted is its own name.
std::vector<Forecast> named(std::span<const Case> asked) {
  std::vector<Forecast> told;
  for (const Case& c : asked) told.push_back({.why_not = "of " + c.id});
  return told;
}

TEST(BackgroundPredictor, ForecastsDoNotDependOnRequestOrder) {
  auto all = cases(200);
  BackgroundPredictor predictor(all, named);
  for (auto c = all.rbegin(); c != all.rend(); ++c) {
    predictor.add_to(*c);
    EXPECT_EQ(c->forecast.why_not, "of " + c->id);
  }
}

TEST(BackgroundPredictor, PredictsInvalidCasesToo) {
  auto all = cases(1);
  BackgroundPredictor predictor(all, named);
  all[0].status = Status::invalid;
  predictor.add_to(all[0]);
  EXPECT_EQ(all[0].forecast.why_not, "of 0");
}

TEST(BackgroundPredictor, DoesNotPredictImpossibleCases) {
  auto all = cases(2);
  all[1].status = Status::impossible;
  BackgroundPredictor predictor(all, named);
  for (Case& c : all) predictor.add_to(c);
  EXPECT_EQ(all[1].forecast.why_not, "");
}

TEST(BackgroundPredictor, ModelExceptionsBecomeReasons) {
  auto all = cases(3);
  BackgroundPredictor predictor(
      all, [](std::span<const Case>) -> std::vector<Forecast> { throw std::runtime_error("no memory"); });
  for (Case& c : all) {
    EXPECT_NO_THROW(predictor.add_to(c));
    EXPECT_EQ(c.forecast.why_not, "no memory");
  }
}

TEST(BackgroundPredictor, DestructorCancelsPendingPredictions) {
  std::atomic<int> asked = 0;
  {
    const BackgroundPredictor predictor(cases(20'000), [&](std::span<const Case> some) {
      ++asked;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return named(some);
    });
  }
  EXPECT_LT(asked, 20'000);
}

}  // namespace
}  // namespace occbench
