// SPDX-License-Identifier: Apache-2.0
// What `occbench attach --apply` compares of two runs.
#include <gtest/gtest.h>

#include "benchmarks/commands/attach/run_times.hpp"

namespace occbench::commands {
namespace {

using namespace attach;

TEST(AttachRunTimes, PicksTheRangeThatCoversTheMostTimeAsStep) {
  Collected all;
  for (int n = 0; n < 11; ++n) all.steps.push_back({0, "train", 10 + 0.1 * n, 0});
  for (int n = 0; n < 50; ++n) all.steps.push_back({0, "load", 0.01 * n, 0});
  all.steps.push_back({1, "train", 500, 0});  // of another process: no step of the first's
  all.steps.push_back({0, "whole", 1, 0});    // once: nothing follows it
  const RunTimes times = times_of(all);
  EXPECT_EQ(times.range, "train");
  EXPECT_EQ(times.steps, 10U);
  EXPECT_NEAR(times.step_s, 0.1, 1e-9);
}

TEST(AttachRunTimes, RejectsRangesThatDoNotSynchronize) {
  Collected all;
  all.kernels = {{.block = {256, 1, 1}, .launches = 600}};
  all.launches.push_back({.kernel = 0, .launch = {.time_us = 1200}});
  const auto with_a_push_every = [&](double seconds) {
    all.steps.clear();
    for (int n = 0; n < 600; ++n) all.steps.push_back({0, "stack", seconds * n, 0});
    return times_of(all);
  };
  EXPECT_EQ(with_a_push_every(17e-6).unsynchronized_range, "stack");
  EXPECT_EQ(with_a_push_every(17e-6).step_s, 0);
  EXPECT_NEAR(with_a_push_every(17e-6).gpu_s, 0.72, 1e-9);
  EXPECT_EQ(with_a_push_every(1300e-6).range, "stack");
}

TEST(AttachRunTimes, ProfilerStartStopPairsAreSteps) {
  Collected all;
  all.steps = {{0, "", 3, 0.5}, {0, "", 9, 0.7}};
  EXPECT_EQ(times_of(all).steps, 2U);
  EXPECT_NEAR(times_of(all).step_s, 0.6, 1e-9);
  EXPECT_EQ(times_of({}).steps, 0U);
}

TEST(AttachRunTimes, ExtrapolatesGpuTimeFromTimedLaunches) {
  Collected all;
  all.kernels = {{.block = {256, 1, 1}, .launches = 1000, .captured = 500}, {.block = {256, 1, 1}}};
  for (const float time_us : {99.F, 101.F, 100.F, 40'000.F})  // the last: a spike of its events
    all.launches.push_back({.kernel = 0, .launch = {.time_us = time_us}});
  EXPECT_NEAR(times_of(all).gpu_s, 0.05, 1e-9);
}

}  // namespace
}  // namespace occbench::commands
