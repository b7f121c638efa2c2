// SPDX-License-Identifier: Apache-2.0
// Which launches count, when a case is noisy, and what its row says of those that do not.
#include "harness/measure/case_progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/measure/runner.hpp"

namespace occbench {
namespace {

CaseProgress progress_of(std::size_t kept, std::size_t disturbed, std::size_t slow_clock,
                         std::size_t earlier = 0) {
  CaseProgress progress;
  progress.result.samples = kept;
  progress.result.discarded = disturbed + slow_clock + earlier;
  progress.overlapped_by_others = disturbed;
  progress.slow_clock = slow_clock;
  progress.samples.resize(kept + progress.result.discarded);
  return progress;
}

std::string reason_of(CaseProgress progress) {
  const CaseResult& r = progress.result;
  const std::size_t kept = r.samples, discarded = r.discarded;
  EXPECT_TRUE(mark_if_noisy(progress));
  EXPECT_EQ(r.planned.status, Status::noisy);
  EXPECT_FALSE(r.has_time());
  EXPECT_EQ(r.samples, kept) << "the row says how many were taken";
  EXPECT_EQ(r.discarded, discarded);
  EXPECT_TRUE(progress.samples.empty());
  return r.planned.reason;
}

TEST(NoisyCase, ReasonListsDiscardedLaunches) {
  EXPECT_EQ(reason_of(progress_of(0, 30, 0)), "only 0 of 30 launches count: 30 ran beside another process");
  EXPECT_EQ(reason_of(progress_of(5, 0, 25)), "only 5 of 30 launches count: 25 at a low SM clock");
  EXPECT_EQ(reason_of(progress_of(3, 20, 7)),
            "only 3 of 30 launches count: 20 ran beside another process, 7 at a low SM clock");
  EXPECT_EQ(reason_of(progress_of(2, 20, 0, 8)),
            "only 2 of 30 launches count: 20 ran beside another process, 8 were discarded before --resume");
}

TEST(NoisyCase, RequiresTooFewLaunchesAndDiscardedOnes) {
  for (const auto& [kept, disturbed] : {std::pair{6, 24}, std::pair{3, 0}}) {
    CaseProgress progress = progress_of(kept, disturbed, 0);
    EXPECT_FALSE(mark_if_noisy(progress));
    EXPECT_EQ(progress.result.planned.status, Status::valid);
    EXPECT_FALSE(progress.samples.empty());
  }
}

std::vector<bool> discarded_of(const std::vector<double>& clocks_ghz) {
  CaseProgress progress;
  for (const double ghz : clocks_ghz) {
    const Sample sample{.time_s = 1e-3, .sm_clock_hz = 1e9 * ghz};
    append_samples(progress, {&sample, 1}, Precision{}.clock_tolerance);
  }
  std::vector<bool> discarded;
  for (const SampleRow& s : progress.samples) discarded.push_back(s.discarded);
  EXPECT_EQ(std::ranges::count(discarded, true), static_cast<std::ptrdiff_t>(progress.slow_clock));
  return discarded;
}

TEST(AppendSamples, DiscardsClocks2PercentBelowTheKeptMedian) {
  using Expected = std::vector<bool>;
  EXPECT_EQ(discarded_of({2.0, 2.0, 2.0, 1.961, 1.959, 2.1}), (Expected{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(discarded_of({2.0, 2.0, 1.5, 1.5}), (Expected{0, 0, 0, 1})) << "three have a median";
  EXPECT_EQ(discarded_of({2.0, 2.0, 2.0, 1.9, 1.9, 1.9, 1.9, 1.97}), (Expected{0, 0, 0, 1, 1, 1, 1, 0}))
      << "what is discarded does not lower the median";
}

}  // namespace
}  // namespace occbench
