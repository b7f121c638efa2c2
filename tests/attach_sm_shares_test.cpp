// SPDX-License-Identifier: Apache-2.0
// What times on a part of the SMs say of a kernel.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/attach/analysis/sm_shares.hpp"
#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {
namespace {

/// 40 launches of about this time.
std::vector<double> around(double time_us) {
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(time_us * (1 + 1e-3 * (i % 5)));
  return times;
}

/// 100 us on 132 SMs, and so long on 96, 64 and 32.
Kernel kernel(unsigned blocks, double on_96, double on_64, double on_32) {
  Kernel k{.grid = {blocks, 1, 1}, .block = {256, 1, 1}, .blocks_per_sm = 8, .sms = 132};
  k.arms[untouched] = {.blocks_per_sm = 8, .times_us = around(100)};
  for (const auto& [sms, time_us] : {std::pair{96, on_96}, {64, on_64}, {32, on_32}})
    k.fewer_sms[sms] = {.blocks_per_sm = 8, .times_us = around(time_us)};
  return k;
}

constexpr unsigned many = 132 * 8 * 20;

TEST(AttachSmShares, ClassifiesByTheSlowdownOnHalfTheSms) {
  EXPECT_EQ(judge_sms(kernel(many, 137, 206, 412)).finding, SmFinding::sm_bound);
  EXPECT_EQ(judge_sms(kernel(many, 120, 155, 250)).finding, SmFinding::partly_sm_bound);
  EXPECT_EQ(judge_sms(kernel(many, 105, 117, 187)).finding, SmFinding::memory_bound);
  EXPECT_EQ(judge_sms(kernel(132, 100, 100, 100)).finding, SmFinding::small_grid);
  EXPECT_EQ(judge_sms(Kernel{}).finding, SmFinding::none);
}

TEST(AttachSmShares, CountsSpareSms) {
  EXPECT_EQ(judge_sms(kernel(many, 137, 206, 412)).spare_sms, 0);
  EXPECT_EQ(judge_sms(kernel(many, 104, 117, 187)).spare_sms, 36);
  EXPECT_EQ(judge_sms(kernel(many, 104, 117, 104)).spare_sms, 36) << "not beyond a share that costs more";
  EXPECT_EQ(judge_sms(kernel(132, 100, 101, 103)).spare_sms, 100);
}

TEST(AttachSmShares, AccountsForWaveQuantization) {  // 1 wave on all SMs, 3 on 64
  EXPECT_EQ(judge_sms(kernel(132 * 8, 200, 300, 500)).finding, SmFinding::sm_bound);
}

TEST(AttachSmShares, GivesTheReasonForUnknown) {
  Kernel few = kernel(many, 137, 206, 412);
  few.fewer_sms[64].times_us.resize(5);
  few.fewer_sms[32].times_us.resize(5);
  EXPECT_EQ(judge_sms(few).finding, SmFinding::unknown);
  EXPECT_EQ(judge_sms(few).why, "too few launches");
  EXPECT_EQ(judge_sms(kernel(many, 110, 126.6, 200)).why, "its interval spans two verdicts");
}

TEST(AttachSmShares, JudgesMultimodalLaunchesOnlyIfAllModesAgree) {
  const auto mixed = [](double small, double large) {
    std::vector<double> times = around(small);
    for (int i = 0; i < 15; ++i) times.push_back(large);
    return times;
  };
  Kernel k = kernel(many, 100, 100, 100);
  k.arms[untouched].times_us = mixed(100, 300);
  k.fewer_sms[64].times_us = mixed(102, 306);
  EXPECT_EQ(judge_sms(k).finding, SmFinding::memory_bound);
  k.fewer_sms[64].times_us = mixed(102, 600);
  EXPECT_EQ(judge_sms(k).finding, SmFinding::unknown);
  EXPECT_EQ(judge_sms(k).why, "several kinds of launches");
}

}  // namespace
}  // namespace occbench::attach
