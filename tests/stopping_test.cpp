// SPDX-License-Identifier: Apache-2.0
// How often the interval that a case stops with holds the truth: the median over the time of the run.
#include "harness/statistics/stopping.hpp"

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

/// One run's noise: a time for each moment, 0 to 1 of the run, and the median that it has over all of them.
struct Noise {
  std::string name;
  std::function<double(double moment, Random&)> time;
  double median = 1;
};

/// `slow`: what wanders slowly over the run is drawn once a run.
std::vector<Noise> noises(double sigma, Random& slow) {
  const double phase = std::uniform_real_distribution<double>(0, 6.283)(slow);
  return {
      {"normal", [=](double, Random& r) { return 1 + normal(r, sigma); }},
      {"skewed", [=](double, Random& r) { return std::exp(normal(r, 1)) * sigma + 1 - sigma; }},
      {"outliers",
       [=](double, Random& r) {
         return 1 + normal(r, sigma) + (happens(r, 0.05) ? 20 * sigma * std::abs(normal(r, 1)) : 0);
       },
       1 + sigma * 0.0318},  // the 0.5 / 0.975-quantile's shift, a bit more than half of 5 % lie higher
      {"two speeds",
       [=](double, Random& r) { return (happens(r, 0.3) ? 1 + 6 * sigma : 1) + normal(r, sigma / 3); },
       1 + sigma / 3 * 0.5660},  // 0.5 of all lie under where 0.5 / 0.7 of the faster do
      {"drift", [=](double t, Random& r) { return 1 + 2 * sigma * (t - 0.5) + normal(r, sigma / 2); }},
      {"wander",
       [=](double t, Random& r) { return 1 + sigma * std::sin(25 * t + phase) + normal(r, sigma / 2); }},
  };
}

/// Visits spread over the run as iterations are: one in each, at a random moment of it.
double coverage(const StoppingRule& rule, const std::string& name, double sigma, double* visits_made) {
  constexpr int trials = 4000;
  Random random(7);
  int held = 0;
  double made = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const auto all = noises(sigma, random);
    const Noise& noise = *std::ranges::find(all, name, &Noise::name);
    // A run is as long as its slowest case needs it to be; a case that stops early saw the beginning of it.
    std::vector<double> samples;
    int visits = 0;
    while (true) {
      const double moment =
          (visits + std::uniform_real_distribution<double>(0, 1)(random)) / rule.min_samples;
      samples.push_back(noise.time(std::fmod(moment, 1.0), random));
      if (!rule.checks_after(++visits)) continue;
      if (rule.is_precise(samples) || visits >= rule.max_samples) break;
    }
    const MedianInterval interval = median_interval(samples);
    held += interval.low <= noise.median && noise.median <= interval.high ? 1 : 0;
    made += visits;
  }
  *visits_made = made / trials;
  return held / static_cast<double>(trials);
}

TEST(Stopping, ChecksAtMinSamplesAndThenPeriodically) {
  const StoppingRule rule{.min_samples = 9, .check_every = 3, .max_samples = 13};
  std::vector<int> looks;
  for (int visits = 1; visits <= 14; ++visits)
    if (rule.checks_after(visits)) looks.push_back(visits);
  EXPECT_EQ(looks, (std::vector{9, 12, 13, 14}));
}

TEST(Stopping, PrecisionIsLimitedByTheTimerStep) {
  const std::vector<double> alike(9, 20e-6);
  EXPECT_TRUE((StoppingRule{.half_width = 1e-3}.is_precise(alike)));
  EXPECT_FALSE((StoppingRule{.half_width = 1e-3, .timer_step = 32e-9}.is_precise(alike)));
  EXPECT_TRUE((StoppingRule{.half_width = 2e-3, .timer_step = 32e-9}.is_precise(alike)));
}

TEST(Stopping, IntervalsKeepTheirCoverageUnderNoise) {
  for (const char* name : {"normal", "skewed", "outliers", "two speeds", "drift", "wander"})
    for (const double sigma : {0.001, 0.004, 0.008, 0.02}) {
      double visits = 0;
      const double held = coverage({}, name, sigma, &visits);
      std::printf("%-10s sigma %4.1f %%: %4.1f %% hold it, %4.1f visits\n", name, 100 * sigma, 100 * held,
                  visits);
      EXPECT_GE(held, 0.93) << name << ", sigma " << sigma;
    }
}

}  // namespace
}  // namespace occbench::statistics
