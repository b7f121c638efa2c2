// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/foretold.hpp"

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

/// What a case is foretold is its own name.
std::vector<Forecast> named(std::span<const Case> asked) {
  std::vector<Forecast> told;
  for (const Case& c : asked) told.push_back({.why_not = "of " + c.id});
  return told;
}

TEST(Foretold, SaysTheSameOfACaseWhetherItWasItsTurnOrNot) {
  auto all = cases(200);
  Foretold foretold(all, named);
  for (auto c = all.rbegin(); c != all.rend(); ++c) {
    foretold.add_to(*c);
    EXPECT_EQ(c->forecast.why_not, "of " + c->id);
  }
}

TEST(Foretold, ACaseThatTurnedOutWrongIsPredictedAllTheSame) {
  auto all = cases(1);
  Foretold foretold(all, named);
  all[0].status = Status::invalid;
  foretold.add_to(all[0]);
  EXPECT_EQ(all[0].forecast.why_not, "of 0");
}

TEST(Foretold, OfWhatCannotBeLaunchedNothingIsAsked) {
  auto all = cases(2);
  all[1].status = Status::impossible;
  Foretold foretold(all, named);
  for (Case& c : all) foretold.add_to(c);
  EXPECT_EQ(all[1].forecast.why_not, "");
}

TEST(Foretold, AModelThatFailsCostsNoMeasurement) {
  auto all = cases(3);
  Foretold foretold(
      all, [](std::span<const Case>) -> std::vector<Forecast> { throw std::runtime_error("no memory"); });
  for (Case& c : all) {
    EXPECT_NO_THROW(foretold.add_to(c));
    EXPECT_EQ(c.forecast.why_not, "no memory");
  }
}

TEST(Foretold, DoesNotWaitForWhatNobodyAskedFor) {
  std::atomic<int> asked = 0;
  {
    const Foretold foretold(cases(20'000), [&](std::span<const Case> some) {
      ++asked;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return named(some);
    });
  }
  EXPECT_LT(asked, 20'000);
}

}  // namespace
}  // namespace occbench
