// SPDX-License-Identifier: Apache-2.0
// Verdicts on synthetic times.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"

namespace occbench::attach {
namespace {

const theory::SmLimits& h100() {
  static const theory::SmLimits sm = [] {
    theory::SmLimits limits{.cc_major = 9,
                            .cc_minor = 0,
                            .sm_count = 132,
                            .warp_size = 32,
                            .max_threads_per_block = 1024,
                            .max_threads_per_sm = 2048,
                            .max_blocks_per_sm = 32,
                            .registers_per_block = 65'536,
                            .registers_per_sm = 65'536,
                            .smem_per_block_bytes = 49'152,
                            .smem_per_block_optin_bytes = 232'448,
                            .smem_per_sm_bytes = 233'472,
                            .smem_reserved_per_block_bytes = 1'024};
    return limits;
  }();
  return sm;
}

/// A kernel of 256 threads whose times follow `law` of (share of the natural warps, whether pinned), with a
/// spread of `spread` parts around it.
Kernel made_up(int registers, unsigned blocks, const std::function<double(double, bool)>& law,
               double spread = 1e-3, int samples = 30) {
  Kernel k{.name = "k", .footprint = {.block_size = 256, .registers_per_thread = registers}};
  k.grid[0] = blocks;
  k.grid[1] = k.grid[2] = k.block[1] = k.block[2] = 1;
  k.block[0] = 256;
  k.sms = h100().sm_count;
  k.blocks_per_sm = theory::occupancy(h100(), k.footprint).blocks_per_sm;
  const auto add = [&](int arm, int resident) {
    Arm& a = k.arms[arm];
    a.blocks_per_sm = resident;
    for (int i = 0; i < samples; ++i)
      a.times_us.push_back(law(static_cast<double>(resident) / k.blocks_per_sm, arm != untouched) *
                           (1 + spread * (i % 2 == 0 ? 1 : -1) * (i % 5) / 4));
  };
  add(untouched, k.blocks_per_sm);
  add(pinned, k.blocks_per_sm);
  int arm = first_level;
  for (const double share : {0.75, 0.5, 0.25})
    add(arm++, std::max(1, static_cast<int>(std::lround(share * k.blocks_per_sm))));
  k.launches = k.timed = static_cast<std::uint64_t>(5 * samples);
  k.untouched_timed = static_cast<std::uint64_t>(samples);
  k.untouched_us = 100.0 * samples;
  return k;
}

constexpr unsigned many_blocks = 132 * 8 * 20;

double latency(double warps, bool) { return 100 / warps; }
double flat(double, bool) { return 100; }
double thrashing(double warps, bool) { return 60 + 40 * warps; }
double in_l1(double, bool is_pinned) { return is_pinned ? 150 : 100; }
double gentle(double warps, bool) { return 90 + 10 / warps; }

TEST(AttachVerdict, ClassifiesSyntheticOccupancyCurves) {
  EXPECT_EQ(judge(made_up(40, many_blocks, latency), h100()).finding, Finding::needs_occupancy);
  EXPECT_EQ(judge(made_up(32, many_blocks, flat), h100()).finding, Finding::saturated);
  EXPECT_EQ(judge(made_up(32, many_blocks, thrashing), h100()).finding, Finding::faster_at_lower_occupancy);
  EXPECT_EQ(judge(made_up(32, many_blocks, in_l1), h100()).finding, Finding::needs_l1);
  EXPECT_EQ(judge(made_up(40, many_blocks, gentle), h100()).finding, Finding::small_gain);
}

double near_saturated(double warps, bool) { return 97.4 + 2.6 / warps; }
double far_from_any(double warps, bool) { return 94 + 6 / warps; }
double l1_at_three_percent(double, bool is_pinned) { return is_pinned ? 103 : 100; }
double barely_faster(double warps, bool) { return 96 + 4 * warps; }

TEST(AttachVerdict, ReportsValuesCloseToAThreshold) {
  const auto why = [](double (*law)(double, bool), int registers = 32) {
    return judge(made_up(registers, many_blocks, law), h100()).why;
  };
  EXPECT_EQ(why(near_saturated).find("a step down costs 0.9 % (0."), 0U) << why(near_saturated);
  EXPECT_NE(why(near_saturated).find("), at the threshold of 1 %"), std::string::npos) << why(near_saturated);
  EXPECT_EQ(why(l1_at_three_percent).find("without the L1 it takes 3.0 %"), 0U) << why(l1_at_three_percent);
  EXPECT_EQ(why(barely_faster).find("fewer warps save"), std::string::npos);
  for (const auto& law : {flat, latency, thrashing, in_l1, far_from_any}) EXPECT_EQ(why(law), "");
}

/// 100 samples, each quantity at 10 % of its peak and one higher.
SampledCounters counters_at(Quantity high, double share) {
  SampledCounters c{.samples = 100};
  c.us.fill(1000);
  c.share_us.fill(100);
  c.share_us[high] = 1000 * share;
  return c;
}

TEST(AttachVerdict, FallsBackToCountersWithoutArms) {
  Kernel k = made_up(32, many_blocks, flat);
  k.skip_reason = SkipReason::one_block;
  const auto judged = [&](Quantity high, double share) {
    k.seen = counters_at(high, share);
    const Verdict v = judge(k, h100());
    return std::string(to_string(v.finding)) + ": " + v.why;
  };
  EXPECT_EQ(judged(tensor, 0.88),
            "throughput limit: tensor cores at 88 %; more occupancy would not help (one block per SM)");
  EXPECT_EQ(judged(issue, 0.3),
            "latency: no unit over 40 %, issue slots at 30 %: more warps or blocks (one block per SM)");
  EXPECT_EQ(judged(l2, 0.5), "no single limit: L2 at 50 % (one block per SM)");
  k.seen_whole = counters_at(tensor, 0.5);  // from start to end, ramps included
  k.seen_whole.us[issue] = 99;
  EXPECT_EQ(judged(tensor, 0.88).substr(0, 16), "throughput limit") << "too few";
  k.seen_whole.us[issue] = 100, k.seen_whole.share_us[issue] = 10;
  EXPECT_EQ(judged(tensor, 0.88), "no single limit: tensor cores at 50 % (one block per SM)");
  k.seen_whole = {};
  k.seen.us.fill(99);
  EXPECT_EQ(judge(k, h100()).finding, Finding::skipped);
}

TEST(AttachVerdict, ReportsDisagreementOfArmsAndCounters) {
  Kernel needs = made_up(40, many_blocks, latency), saturated = made_up(32, many_blocks, flat);
  needs.seen = counters_at(dram, 0.92);
  const Verdict bound = judge(needs, h100());
  EXPECT_EQ(bound.finding, Finding::needs_occupancy);
  EXPECT_EQ(bound.why, "but counters have DRAM at 92 %: at most 8 % to gain");
  EXPECT_EQ(bound.gain->low, 0);
  EXPECT_EQ(bound.has_agreement, false);
  EXPECT_NEAR(bound.gain->value, 0.08, 1e-9);
  saturated.seen = counters_at(dram, 0.2);
  EXPECT_EQ(judge(saturated, h100()).why, "but counters have no unit over 40 %, DRAM at 20 %");
  EXPECT_EQ(judge(saturated, h100()).has_agreement, false);
  needs.seen = counters_at(dram, 0.2);
  saturated.seen = counters_at(dram, 0.92);
  EXPECT_EQ(judge(needs, h100()).why + judge(saturated, h100()).why, "");
  EXPECT_EQ(judge(needs, h100()).has_agreement, true);
  EXPECT_EQ(judge(saturated, h100()).has_agreement, true);
  needs.seen = {};
  EXPECT_EQ(judge(needs, h100()).has_agreement, std::nullopt);
}

TEST(AttachVerdict, BusyUnitDoesNotContradictNeedsOccupancy) {
  Kernel full = made_up(32, many_blocks, latency);  // at 100 % occupancy: no step adds a block
  full.seen = counters_at(dram, 0.84);
  const Verdict v = judge(full, h100());
  EXPECT_EQ(v.finding, Finding::needs_occupancy);
  EXPECT_EQ(v.why, "DRAM at 84 %");
  EXPECT_EQ(v.has_agreement, std::nullopt);
}

TEST(AttachVerdict, ParsesRetiredFindingNames) {
  EXPECT_EQ(parse_finding("faster lower"), Finding::faster_at_lower_occupancy);  // retired
  EXPECT_EQ(parse_finding("helps little"), Finding::small_gain);                 // retired
  EXPECT_EQ(parse_finding("left alone"), Finding::skipped);                      // retired
  EXPECT_EQ(parse_finding("better"), std::nullopt);
  for (int n = 0; n <= static_cast<int>(Finding::small_gain); ++n)
    EXPECT_EQ(parse_finding(to_string(static_cast<Finding>(n))), static_cast<Finding>(n));
}

TEST(AttachVerdict, IgnoresAGainFromTheCarveoutAlone) {
  const auto law = [](double, bool is_pinned) { return is_pinned ? 90.0 : 100.0; };
  EXPECT_EQ(judge(made_up(32, many_blocks, law), h100()).finding, Finding::saturated);
}

TEST(AttachVerdict, AcceptsAWideIntervalWithinOneVerdict) {
  EXPECT_EQ(judge(made_up(40, many_blocks, latency, 0.15, 12), h100()).finding, Finding::needs_occupancy);
  EXPECT_EQ(judge(made_up(40, many_blocks, gentle, 0.15, 12), h100()).finding, Finding::unknown);
}

TEST(AttachVerdict, PredictsTheGainOfTheNextStep) {
  const Verdict v = judge(made_up(40, many_blocks, latency), h100());
  EXPECT_EQ(v.next.needs, "8 registers fewer");
  EXPECT_EQ(v.next.blocks_per_sm, 8);
  ASSERT_TRUE(v.gain);
  EXPECT_NEAR(v.gain->value, 1 - 6 / 8.0, 0.005);
  EXPECT_LE(v.gain->low, 1 - 6 / 8.0 + 1e-9);
  EXPECT_GE(v.gain->high, v.gain->value);
}

TEST(AttachVerdict, GainNeverExceedsTheAddedWarps) {
  for (const auto& law : {latency, flat, thrashing, gentle}) {
    const Verdict v = judge(made_up(40, many_blocks, law), h100());
    ASSERT_TRUE(v.gain);
    EXPECT_GE(v.gain->value, 0);
    EXPECT_LE(v.gain->low, v.gain->value);
    EXPECT_LE(v.gain->high, 1 - 6 / 8.0 + 1e-9);
  }
}

TEST(AttachVerdict, RemovesWaveQuantization) {
  // Two waves of eight blocks an SM are three of six: 18 to 16 without any need of occupancy.
  const auto steps = [](double warps, bool) { return 100 * std::ceil(2 / warps) * warps / 2; };
  const Verdict v = judge(made_up(32, 132 * 16, steps), h100());
  EXPECT_EQ(v.finding, Finding::waves);
  EXPECT_NEAR(v.levels.front().wave_change, 18 / 16.0 - 1, 1e-9);
}

TEST(AttachVerdict, ReturnsUnknownOrSkippedForUnreliableTimes) {
  EXPECT_EQ(judge(made_up(32, many_blocks, flat, 1e-3, 4), h100()).finding, Finding::unknown);
  Kernel noisy = made_up(32, many_blocks, flat, 0.5, 12);
  EXPECT_EQ(judge(noisy, h100()).finding, Finding::unknown);
  Kernel two = made_up(32, many_blocks, flat);
  std::vector<double>& times = two.arms[untouched].times_us;
  for (std::size_t i = 0; i < times.size(); i += 3) times[i] *= 3;  // a third of them: the MAD sees nothing
  EXPECT_NE(judge(two, h100()).why.find("several kinds"), std::string::npos);
  Kernel clustered = made_up(32, many_blocks, flat);
  clustered.skip_reason = SkipReason::cluster;
  EXPECT_EQ(judge(clustered, h100()).finding, Finding::skipped);
  Kernel captured = made_up(32, many_blocks, flat);
  captured.captured = captured.launches;
  EXPECT_EQ(judge(captured, h100()).finding, Finding::unknown);
}

TEST(AttachVerdict, SummarizesTheProgramInOneSentence) {
  Collected all;
  all.kernels = {made_up(40, many_blocks, latency), made_up(32, many_blocks, flat)};
  std::vector<Verdict> verdicts;
  for (const Kernel& k : all.kernels) verdicts.push_back(judge(k, h100()));
  const std::string text = sentence(all, verdicts);
  EXPECT_NE(text.find("take 50 % of GPU time"), std::string::npos) << text;
  EXPECT_NE(text.find("about 12.5 %"), std::string::npos) << text;
  verdicts[0].gain = {.value = 0.001, .low = -0.003, .high = 0.005};  // of half of the program
  EXPECT_NE(sentence(all, verdicts).find("their next steps would gain less than 0.3 %."), std::string::npos)
      << sentence(all, verdicts);
}

}  // namespace
}  // namespace occbench::attach
