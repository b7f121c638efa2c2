// SPDX-License-Identifier: Apache-2.0
// What a run is said to have found: effects planted in made-up results are told; noise and too few points are
// not.
#include "benchmarks/report/findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace occbench {
namespace {

void define_nothing(Sweep&) {}
const AddExperiment by_registers{
    {.name = "a_registers", .question = "?", .dial = "registers_per_thread", .define = define_nothing}};
const AddExperiment by_warps{
    {.name = "b_warps", .question = "?", .dial = "warps_per_sm", .define = define_nothing}};
const AddExperiment by_block{
    {.name = "c_block", .question = "?", .dial = "block_size", .define = define_nothing}};
const AddExperiment by_waves{{.name = "d_waves", .question = "?", .dial = "waves", .define = define_nothing}};

const Variant loads{.family = "f", .name = "loads", .dials = {.ilp = 4, .bytes_per_access = 16}};
const Variant narrow{.family = "f", .name = "narrow", .dials = {.ilp = 1, .bytes_per_access = 4}};
const Variant chain{.family = "f", .name = "chain", .ceiling = Ceiling::fp32};
const Variant latency{.family = "f", .name = "latency", .ceiling = Ceiling::none};

/// A measured case: its residency, its throughput and the half width of that, relative.
CaseResult measured(const char* experiment, const Variant& variant, int warps, double throughput,
                    double half_width = 0.002) {
  CaseResult r;
  r.planned.spec = {.experiment = experiment, .curve = variant.name, .variant = &variant, .block_size = 128};
  r.planned.occupancy = {.blocks_per_sm = warps / 4, .warps_per_sm = warps, .fraction = warps / 64.0};
  r.planned.occupancy_textbook = warps / 64.0;
  r.planned.footprint.registers_per_thread = r.planned.attributes.registers_per_thread = 32;
  r.planned.launch.grid_size = r.planned.wave_blocks = 1;
  r.samples = 12;
  r.throughput = throughput;
  r.ceiling = 100;
  const double time_s = 1 / throughput;
  r.time_s = {.median = time_s, .low = time_s * (1 - half_width), .high = time_s * (1 + half_width)};
  r.time_p10_s = r.time_p90_s = time_s;
  r.reached_precision = true;
  r.planned.id = r.planned.spec.id();
  return r;
}

CaseResult with_registers(const Variant& variant, int registers, int warps, double throughput,
                          std::size_t spilled = 0, double half_width = 0.002) {
  CaseResult r = measured("a_registers", variant, warps, throughput, half_width);
  r.planned.footprint.registers_per_thread = r.planned.attributes.registers_per_thread = registers;
  r.planned.attributes.local_bytes = spilled;
  return r;
}

CaseResult with_warps(const Variant& variant, int warps, double throughput, double half_width = 0.002) {
  CaseResult r = measured("b_warps", variant, warps, throughput, half_width);
  r.planned.spec.resident_blocks = warps / 4;
  return r;
}

CaseResult with_block(int block, double throughput, int api) {
  CaseResult r = measured("c_block", loads, 64, throughput);
  r.planned.spec.block_size = block;
  r.block_size_api = api;
  return r;
}

/// A curve that keeps its throughput but for one step, where 64 warps become 48.
std::vector<CaseResult> registers_with_cliff(const Variant& variant, double lost, double half_width = 0.002) {
  std::vector<CaseResult> all;
  for (const int registers : {24, 28, 31, 33, 36, 40})
    all.push_back(with_registers(variant, registers, registers > 32 ? 48 : 64,
                                 80 * (registers > 32 ? 1 - lost : 1), 0, half_width));
  return all;
}

std::vector<CaseResult> together(std::vector<CaseResult> a, const std::vector<CaseResult>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Finding* of_kind(const std::vector<Finding>& all, Kind kind) {
  const auto found = std::ranges::find(all, kind, &Finding::kind);
  return found == all.end() ? nullptr : &*found;
}

std::vector<Finding> told(const std::vector<CaseResult>& results) { return most_telling(results, 5); }

TEST(Findings, ACliffIsToldBesideTheKernelThatDoesNotMind) {
  const auto all = told(together(registers_with_cliff(loads, 0.21), registers_with_cliff(chain, 0)));
  const Finding* cliff = of_kind(all, Kind::cliff);
  ASSERT_NE(cliff, nullptr);
  EXPECT_EQ(cliff->experiment, "a_registers");
  EXPECT_EQ(cliff->words, "31 -> 33 registers (64 -> 48 warps/SM): -21 % for loads");
  EXPECT_EQ(cliff->more, std::vector<std::string>{", nothing for chain"});
  EXPECT_NEAR(cliff->score, 0.21, 1e-9);
}

TEST(Findings, AloneAnExperimentTellsTheCliffOfEachOfTwoKernels) {
  const auto all = told(together(registers_with_cliff(loads, 0.21), registers_with_cliff(chain, 0.3)));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].words.ends_with("for chain")) << all[0].words;
  EXPECT_TRUE(all[1].words.ends_with("for loads")) << all[1].words;
}

TEST(Findings, WhatLiesWithinTheNoiseIsNotTold) {
  EXPECT_NE(of_kind(told(registers_with_cliff(loads, 0.1, 0.01)), Kind::cliff), nullptr);
  EXPECT_EQ(of_kind(told(registers_with_cliff(loads, 0.1, 0.06)), Kind::cliff), nullptr)
      << "intervals overlap";
  EXPECT_EQ(of_kind(told(registers_with_cliff(loads, 0.02, 0.001)), Kind::cliff), nullptr) << "too small";
}

TEST(Findings, NothingIsToldOfACurveOfFourPoints) {
  auto results = registers_with_cliff(loads, 0.5);
  results.resize(least_points);
  EXPECT_NE(of_kind(told(results), Kind::cliff), nullptr);
  results.erase(results.begin());
  EXPECT_TRUE(told(results).empty());
  // As many cases at four values of the dial are four points still.
  results.push_back(results.back());
  EXPECT_TRUE(told(results).empty());
}

TEST(Findings, AStepThatSpillsIsNoCliff) {
  auto results = registers_with_cliff(loads, 0.5);
  for (CaseResult& r : results)
    if (r.planned.attributes.registers_per_thread <= 31) r.planned.attributes.local_bytes = 8;
  EXPECT_EQ(of_kind(told(results), Kind::cliff), nullptr);
}

TEST(Findings, FewWarpsThatSufficeAreTold) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) {
    results.push_back(with_warps(loads, warps, std::min(96.0, 8.0 * warps)));
    results.push_back(with_warps(narrow, warps, 1.5 * warps));
  }
  const auto all = told(results);
  const Finding* knee = of_kind(all, Kind::knee);
  ASSERT_NE(knee, nullptr);
  EXPECT_EQ(knee->words, "loads: 90 % of the best DRAM bandwidth with 12 warps/SM (19 % occupancy)");
  ASSERT_EQ(knee->more.size(), 2U);
  EXPECT_EQ(knee->more[0], " at 4 x 16 B in flight");
  EXPECT_EQ(knee->more[1], "; narrow needs 64");
  EXPECT_EQ(of_kind(all, Kind::decline), nullptr);
  std::erase_if(results, [](const CaseResult& r) { return r.planned.occupancy.warps_per_sm < 16; });
  EXPECT_EQ(of_kind(told(results), Kind::knee), nullptr) << "three points";
}

TEST(Findings, ManyWarpsThatAreNeededAreNoKnee) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) results.push_back(with_warps(narrow, warps, 1.5 * warps));
  EXPECT_TRUE(told(results).empty());
}

TEST(Findings, WarpsThatCostAreTold) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64})
    results.push_back(with_warps(loads, warps, warps <= 12 ? 8.0 * warps : 96 - 0.75 * (warps - 12)));
  const auto all = told(results);
  const Finding* decline = of_kind(all, Kind::decline);
  ASSERT_NE(decline, nullptr);
  EXPECT_EQ(decline->words, "loads is best with 12 warps/SM: 64 cost it 41 %");
  for (CaseResult& r : results) r.time_s.low /= 2;  // each may be twice as fast
  EXPECT_EQ(of_kind(told(results), Kind::decline), nullptr);
}

TEST(Findings, ALatencyHasNoBest) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) results.push_back(with_warps(latency, warps, 96.0 / warps));
  EXPECT_TRUE(told(results).empty());
}

TEST(Findings, SpillingThatPaysAndSpillingThatCosts) {
  std::vector<CaseResult> results{with_registers(loads, 32, 64, 50, 96),
                                  with_registers(loads, 40, 48, 90, 40), with_registers(loads, 64, 32, 80),
                                  with_registers(loads, 72, 24, 70), with_registers(loads, 80, 20, 60)};
  auto all = told(results);
  const Finding* pays = of_kind(all, Kind::spill);
  ASSERT_NE(pays, nullptr);
  EXPECT_EQ(pays->words, "spilling gains loads 12 %: 40 registers, 40 B spilled, 48 warps/SM");
  results[1] = with_registers(loads, 40, 48, 60, 40);
  all = told(results);
  const Finding* costs = of_kind(all, Kind::spill);
  ASSERT_NE(costs, nullptr);
  EXPECT_EQ(costs->words, "spilling costs loads 25 % at best: 40 registers, 40 B spilled, 48 warps/SM");
  results[1] = with_registers(loads, 40, 48, 80.5, 40);
  EXPECT_EQ(of_kind(told(results), Kind::spill), nullptr);
}

TEST(Findings, ABlockSizeThatBeatsTheApis) {
  std::vector<CaseResult> results;
  for (const int block : {64, 128, 256, 512, 1024})
    results.push_back(with_block(block, block == 128 ? 90 : 72, 1024));
  const auto all = told(results);
  const Finding* pick = of_kind(all, Kind::pick);
  ASSERT_NE(pick, nullptr);
  EXPECT_EQ(pick->words, "the API picks 1024 threads for loads; 128 are 25 % faster");
  for (CaseResult& r : results) r.block_size_api = 128;
  EXPECT_EQ(of_kind(told(results), Kind::pick), nullptr);
  for (CaseResult& r : results) r.block_size_api.reset();  // a model has none
  EXPECT_EQ(of_kind(told(results), Kind::pick), nullptr);
}

TEST(Findings, ASawtoothIsAStepAtEqualResidency) {
  std::vector<CaseResult> results;
  for (const int grid : {132, 264, 265, 396, 397}) {
    CaseResult r = measured("d_waves", chain, 4, grid / ((grid + 131) / 132) * 0.1);
    r.planned.spec.grid_size = r.planned.launch.grid_size = grid;
    r.planned.wave_blocks = 132;
    results.push_back(r);
  }
  const auto all = told(results);
  const Finding* step = of_kind(all, Kind::step);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->words, "2 -> 2.008 waves: -33 % for chain");
}

TEST(Findings, TheTextbookIsHeldAgainstWhatWasSeen) {
  CaseResult r = measured("a_registers", loads, 32, 50);
  EXPECT_TRUE(told({r}).empty());
  r.planned.occupancy_textbook = 1;
  auto all = told({r});
  const Finding* gap = of_kind(all, Kind::textbook);
  ASSERT_NE(gap, nullptr) << "no curve is needed";
  EXPECT_EQ(gap->words, "the textbook's division gives 100 % occupancy, the SM has 50 %");
  r.planned.occupancy_textbook = 0.5;
  r.blocks_per_sm_resident = 6;  // of 8
  all = told({r});
  ASSERT_NE(of_kind(all, Kind::textbook), nullptr);
  EXPECT_EQ(of_kind(all, Kind::textbook)->words,
            "the textbook's division gives 50 % occupancy, the SM has 38 %");
}

TEST(Findings, AMissOfThePredictionIsToldOfMeasurementsAlone) {
  CaseResult r = measured("a_registers", loads, 32, 50);
  r.planned.forecast.prediction = {.time_s = r.time_s.median * 2};
  const auto all = told({r});
  const Finding* miss = of_kind(all, Kind::miss);
  ASSERT_NE(miss, nullptr);
  EXPECT_EQ(miss->words, "the model misses loads at 32 warps/SM: it predicts 2.00 times the time measured");
  r.planned.forecast.prediction->time_s = r.time_s.median * 1.05;
  EXPECT_TRUE(told({r}).empty());
  r.planned.forecast.prediction->time_s = r.time_s.median * 2;
  r.planned.is_modelled = true;
  EXPECT_TRUE(told({r}).empty());
}

TEST(Findings, TheLargestFirstAndAFairShareOfEach) {
  auto results = registers_with_cliff(loads, 0.21);
  for (const int warps : {4, 8, 12, 16, 32, 64})
    results.push_back(with_warps(loads, warps, warps <= 12 ? 8.0 * warps : 96 - 0.75 * (warps - 12)));
  for (const int block : {64, 128, 256, 512, 1024})
    results.push_back(with_block(block, block == 128 ? 90 : 45, 1024));
  const auto all = told(results);
  ASSERT_GE(all.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(all, std::ranges::greater{}, &Finding::score));
  EXPECT_EQ(all.front().experiment, "b_warps") << "the knee at 19 % of a best near the ceiling";
  for (const char* experiment : {"a_registers", "b_warps", "c_block"})
    EXPECT_LE(std::ranges::count(all, experiment, &Finding::experiment), 2) << "five over three experiments";
  EXPECT_EQ(most_telling(results, 1).size(), 1U);
  // The order in which cases were run says nothing.
  std::ranges::reverse(results);
  const auto again = told(results);
  ASSERT_EQ(again.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(again[i].words, all[i].words);
}

}  // namespace
}  // namespace occbench
