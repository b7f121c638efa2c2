// SPDX-License-Identifier: Apache-2.0
// What `occbench attach` says of a whole program, before and after its table.
#include <gtest/gtest.h>

#include "benchmarks/commands/attach/parts.hpp"

namespace occbench::commands {
namespace {

using namespace attach;

/// 1,000 launches that take 1 ms each.
Kernel launched(unsigned blocks) {
  return {.grid = {blocks, 1, 1},
          .block = {256, 1, 1},
          .blocks_per_sm = 8,
          .sms = 132,
          .launches = 1000,
          .untouched_us = 1e6,
          .untouched_timed = 1000};
}

std::string said_of(double launching_s, double busy_s, unsigned blocks = 10'560) {
  Collected all;
  all.kernels = {launched(blocks)};
  all.time = {.wall_s = 12, .launching_s = launching_s, .busy_s = busy_s};
  return sentence_of_time(all);
}

TEST(AttachOverview, NamesTheBottleneckOfTheRun) {
  EXPECT_EQ(said_of(1.05, 1),
            "GPU busy 95 % of the 1.1 s from first launch to last, of 12 s in all: kernels "
            "take the time.");
  EXPECT_EQ(said_of(1.1, 0.42),
            "GPU busy 38 % of the 1.1 s from first launch to last, of 12 s in all; idle or "
            "copying for 680.0 us per launch: the host is the bottleneck; its work, copies and "
            "waits come before occupancy.");
  EXPECT_NE(said_of(0.15, 0.06)
                .find("idle or copying for 90.0 us per launch: launches are the bottleneck; CUDA graphs "
                      "or larger batches come before occupancy."),
            std::string::npos)
      << said_of(0.15, 0.06);
  EXPECT_NE(said_of(0.15, 0.1).find("could save up to 33 %."), std::string::npos) << said_of(0.15, 0.1);
}

TEST(AttachOverview, DividesIdleTimeByUncapturedLaunches) {
  Collected all;
  all.kernels = {launched(10'560)};
  all.kernels[0].launches = 1500;
  all.kernels[0].captured = 500;
  all.time = {.wall_s = 12, .launching_s = 1.1, .busy_s = 0.42};
  EXPECT_NE(sentence_of_time(all).find("for 680.0 us per launch"), std::string::npos)
      << sentence_of_time(all);
}

TEST(AttachOverview, EventTimesOfShortLaunchesAreAnUpperBound) {
  const auto said = [](double busy_s, const char* timing) {
    Collected all;
    all.kernels = {launched(10'560)};
    all.processes = {{.id = "process-1-0", .command = "app", .timing = timing}};
    all.time = {.wall_s = 1, .launching_s = 1, .busy_s = busy_s};
    return sentence_of_time(all).substr(0, 120);
  };
  EXPECT_TRUE(
      said(0.011, "events")
          .starts_with("GPU busy at most 1 % of the 1.0 s from first launch to last (events also time "
                       "the wait"))
      << said(0.011, "events");
  EXPECT_TRUE(said(0.011, "activity").starts_with("GPU busy 1 % of")) << said(0.011, "activity");
  EXPECT_TRUE(said(0.5, "events").starts_with("GPU busy 50 % of")) << said(0.5, "events");
}

TEST(AttachOverview, CapsBusyShareAt100Percent) {
  EXPECT_NE(said_of(0.01, 1).find("GPU busy 100 % of the 1.0 s"), std::string::npos) << said_of(0.01, 1);
  EXPECT_EQ(said_of(0, 0), "");
}

TEST(AttachOverview, ReportsTheGpuTimeOfSmallGrids) {
  EXPECT_EQ(said_of(1, 1).find("wave"), std::string::npos);
  EXPECT_NE(
      said_of(1, 1, 300).find("less than one wave take 100.0 % of GPU time, those with fewer blocks than "
                              "SMs 0.0 %: larger batches"),
      std::string::npos)
      << said_of(1, 1, 300);
  EXPECT_NE(said_of(1, 1, 64).find("than SMs 100.0 %"), std::string::npos) << said_of(1, 1, 64);
}

TEST(AttachOverview, ReportsJudgedAndUnjudgedGpuTime) {
  Collected all;
  std::vector<Verdict> verdicts;
  for (const Finding finding : {Finding::saturated, Finding::skipped, Finding::unknown, Finding::needs_l1}) {
    all.kernels.push_back(launched(10'560));
    verdicts.push_back({.finding = finding, .why = finding == Finding::skipped ? "cluster launch" : "why"});
  }
  EXPECT_EQ(
      sentence_of_judged(all, verdicts),
      "GPU time with a verdict: 50.0 % by fewer warps. Without: 25.0 % cluster launch, 25.0 % unknown.");
  all.kernels.resize(1);
  verdicts = {{.finding = Finding::unknown}};
  EXPECT_EQ(sentence_of_judged(all, verdicts), "GPU time with a verdict: nothing. Without: 100.0 % unknown.");
}

}  // namespace
}  // namespace occbench::commands
