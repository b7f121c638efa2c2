// SPDX-License-Identifier: Apache-2.0
// What a run is said to have found: effects planted in made-up results are told; noise and too few points are
// not.
#include "benchmarks/report/findings/findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/framework/experiments_json.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/cliffs.hpp"
#include "benchmarks/report/findings/rows.hpp"

namespace occbench {
namespace {

void define_nothing(Sweep&) {}
const AddExperiment by_registers{
    {.name = "a_registers", .question = "?", .dial = "registers_per_thread", .define = define_nothing}};
const AddExperiment by_warps{
    {.name = "b_warps", .question = "?", .dial = "warps_per_sm", .define = define_nothing}};
const AddExperiment by_block{
    {.name = "c_block", .question = "?", .dial = "block_size", .define = define_nothing}};
const AddExperiment by_share{{.name = "e_registers",
                              .question = "?",
                              .dial = "registers_per_thread",
                              .scale = Scale::best,
                              .define = define_nothing}};
const AddExperiment by_waves{{.name = "d_waves", .question = "?", .dial = "waves", .define = define_nothing}};

const Variant loads{
    .family = "f", .name = "loads", .form = "read", .dials = {.ilp = 4, .bytes_per_access = 16}};
const Variant capped{
    .family = "f",
    .name = "capped",
    .series = "loads",
    .form = "read",
    .dials = {.ilp = 4, .bytes_per_access = 16, .route = RegisterRoute::maxnreg, .register_cap = 40}};
const Variant narrow{
    .family = "f", .name = "narrow", .form = "read", .dials = {.ilp = 1, .bytes_per_access = 4}};
const Variant chain{.family = "f", .name = "chain", .ceiling = Ceiling::fp32};
const Variant latency{.family = "f", .name = "latency", .ceiling = Ceiling::none};

/// A measured case: its residency, its throughput and the half width of that, relative.
CaseResult measured(const char* experiment, const Variant& variant, int warps, double throughput,
                    double half_width = 0.002) {
  CaseResult r;
  r.planned.spec = {.experiment = experiment,
                    .curve = variant.series.empty() ? variant.name : variant.series,
                    .variant = &variant,
                    .block_size = 128};
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

using findings::Highlight;
using findings::Kind;
using findings::min_cliff;

const findings::Finding* of_kind(const std::vector<Highlight>& all, Kind kind) {
  const auto found = std::ranges::find(all, kind, [](const Highlight& t) { return t.finding.kind; });
  return found == all.end() ? nullptr : &found->finding;
}

nlohmann::json environment() {
  return {{"schema_version", 6}, {"source", "measured"}, {"experiments", experiments_json({})}};
}

std::vector<findings::ExperimentFindings> all_findings(const std::vector<CaseResult>& results) {
  return findings::findings_of_run(findings::Rows::of(results), environment());
}

std::vector<Highlight> highlights(const std::vector<CaseResult>& results, std::size_t most = 5) {
  return findings::most_telling(all_findings(results), most);
}

TEST(Findings, TextColumnsMatchTheSchema) {
  const auto schema = nlohmann::json::parse(std::ifstream("results/schema.json"));
  for (const auto& column : schema["files"]["cases.csv"]["columns"])
    EXPECT_EQ(findings::is_text_column(column["name"].get<std::string>()), column["type"] == "string")
        << column["name"];
}

TEST(Findings, CliffNamesTheUnaffectedKernelToo) {
  const auto all = highlights(together(registers_with_cliff(loads, 0.21), registers_with_cliff(chain, 0)));
  const findings::Finding* cliff = of_kind(all, Kind::cliff);
  ASSERT_NE(cliff, nullptr);
  EXPECT_EQ(all.front().experiment, "a_registers");
  EXPECT_EQ(cliff->words,
            "reads lose 21.0 % from 31 to 33 registers (16 to 12 blocks per SM), `chain` nothing");
  EXPECT_NEAR(cliff->score, 0.21, 1e-9);
  ASSERT_EQ(cliff->cases.size(), 1u);  // of the line that falls: the page shows it first
  EXPECT_NE(cliff->cases.front().find("loads"), std::string::npos) << cliff->cases.front();
}

TEST(Findings, ReportsACliffForEachKernel) {
  const auto all = highlights(together(registers_with_cliff(loads, 0.21), registers_with_cliff(chain, 0.3)));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].finding.words.starts_with("`chain` loses 30.0 %")) << all[0].finding.words;
  EXPECT_TRUE(all[1].finding.words.starts_with("reads lose 21.0 %")) << all[1].finding.words;
}

TEST(Findings, IgnoresDropsWithinNoise) {
  EXPECT_NE(of_kind(highlights(registers_with_cliff(loads, 0.1, 0.01)), Kind::cliff), nullptr);
  EXPECT_EQ(of_kind(highlights(registers_with_cliff(loads, 0.1, 0.06)), Kind::cliff), nullptr)
      << "intervals overlap";
  EXPECT_NE(of_kind(highlights(registers_with_cliff(loads, 1.2 * min_cliff, 0.001)), Kind::cliff), nullptr);
  EXPECT_EQ(of_kind(highlights(registers_with_cliff(loads, 0.8 * min_cliff, 0.001)), Kind::cliff), nullptr)
      << "too small";
}

TEST(Findings, OmitsFindingsBelowMinPoints) {
  auto results = registers_with_cliff(loads, 0.5);
  results.resize(min_points);
  EXPECT_NE(of_kind(highlights(results), Kind::cliff), nullptr);
  results.erase(results.begin());
  EXPECT_TRUE(highlights(results).empty());
  // As many cases at four values of the dial are four points still.
  results.push_back(results.back());
  EXPECT_TRUE(highlights(results).empty());
}

TEST(Findings, SpillingStepIsNotACliff) {
  auto results = registers_with_cliff(loads, 0.5);
  for (CaseResult& r : results)
    if (r.planned.attributes.registers_per_thread <= 31) r.planned.attributes.local_bytes = 8;
  EXPECT_EQ(of_kind(highlights(results), Kind::cliff), nullptr);
}

TEST(Findings, ReportsTheKneeAtFewWarps) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) {
    results.push_back(with_warps(loads, warps, std::min(96.0, 8.0 * warps)));
    results.push_back(with_warps(narrow, warps, 1.5 * warps));
  }
  const auto all = highlights(results);
  const findings::Finding* knee = of_kind(all, Kind::enough);
  ASSERT_NE(knee, nullptr);
  EXPECT_EQ(
      knee->words,
      "reads reach 90 % of 0.0 GB/s with 12 warps per SM if each thread keeps 64 B in flight; with 4 B it "
      "takes 64 warps");
  EXPECT_EQ(of_kind(all, Kind::costs_more_warps), nullptr);
  std::erase_if(results, [](const CaseResult& r) { return r.planned.occupancy.warps_per_sm < 16; });
  EXPECT_EQ(of_kind(highlights(results), Kind::enough), nullptr) << "three points";
}

TEST(Findings, DoesNotRoundUpToTheKneeThreshold) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) {
    results.push_back(with_warps(loads, warps, std::min(100.0, 8.0 * warps)));
    results.push_back(with_warps(narrow, warps, 1.402 * warps));
  }
  const auto all = highlights(results);
  const findings::Finding* knee = of_kind(all, Kind::enough);
  ASSERT_NE(knee, nullptr);
  EXPECT_NE(knee->words.find("; with 4 B even 64 warps reach 89.7 %"), std::string::npos) << knee->words;
}

TEST(Findings, NeedingAllWarpsIsNotAKnee) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) results.push_back(with_warps(narrow, warps, 1.5 * warps));
  EXPECT_TRUE(highlights(results).empty());
}

TEST(Findings, ReportsLossFromTooManyWarps) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64})
    results.push_back(with_warps(loads, warps, warps <= 12 ? 8.0 * warps : 96 - 0.75 * (warps - 12)));
  const auto all = highlights(results);
  const findings::Finding* decline = of_kind(all, Kind::costs_more_warps);
  ASSERT_NE(decline, nullptr);
  EXPECT_EQ(decline->words, "reads are fastest with 12 warps per SM; with 64 they lose 40.6 %");
  ASSERT_EQ(decline->cases.size(), 1u);
  EXPECT_NE(decline->cases.front().find("loads"), std::string::npos) << decline->cases.front();
  for (CaseResult& r : results) r.time_s.low /= 2;  // each may be twice as fast
  EXPECT_EQ(of_kind(highlights(results), Kind::costs_more_warps), nullptr);
}

TEST(Findings, LatencyCurvesHaveNoBestPoint) {
  std::vector<CaseResult> results;
  for (const int warps : {4, 8, 12, 16, 32, 64}) results.push_back(with_warps(latency, warps, 96.0 / warps));
  EXPECT_TRUE(highlights(results).empty());
}

/// A finding of the experiment as a whole, whether it is telling or not.
std::string first_words(const std::vector<CaseResult>& results, Kind kind) {
  for (const findings::ExperimentFindings& said : all_findings(results))
    for (const findings::Finding& finding : said.findings)
      if (finding.kind == kind) return finding.words;
  return "";
}

CaseResult share(const Variant& variant, int registers, double throughput) {
  CaseResult r = with_registers(variant, registers, registers > 128 ? 8 : 32, throughput);
  r.planned.spec.experiment = "e_registers";
  r.planned.id = r.planned.spec.id() + std::to_string(registers);
  return r;
}

TEST(Findings, ComparesLossesAtOneDialValue) {
  std::vector<CaseResult> results;
  for (const int registers : {24, 32, 64, 128, 129, 192, 255}) {
    results.push_back(share(loads, registers, registers > 128 ? 14 + registers / 1000.0 : 100));
    results.push_back(share(chain, registers, registers > 128 ? 50 : 100));
    if (registers <= 128) results.push_back(share(latency, registers, 98 + registers % 3));
  }
  EXPECT_EQ(first_words(results, Kind::loss),
            "reads lose 86 % by 129 registers (12.5 % occupancy), `chain` 50 %")
      << "not by 255, where no more is lost, and not what a line that ends before loses";
}

TEST(Findings, RangeIsContiguousAndNearTheBest) {
  const auto range_of = [](const std::vector<double>& rates) {
    std::vector<CaseResult> results;
    int registers = 16;
    for (const double rate : rates) results.push_back(with_registers(loads, registers += 8, 32, rate));
    return first_words(results, Kind::range);
  };
  EXPECT_EQ(range_of({100, 95, 92, 50, 40}), "reads lose at most 10 % up to 40 registers, and 60 % with 56");
  EXPECT_EQ(range_of({70, 95, 100, 50, 40}),
            "reads lose at most 10 % with 32 to 40 registers, and 60 % with 56");
  EXPECT_EQ(range_of({95, 70, 100, 50, 40}), "reads lose at most 10 % with 40 registers, and 60 % with 56");
  EXPECT_EQ(range_of({100, 80, 70, 50, 40}), "") << "it falls from its first value on";
}

TEST(Findings, OtherDialGainNamesTheFixedDials) {
  static const Variant one{.family = "g", .name = "one", .form = "read", .dials = {.ilp = 1}};
  static const Variant four{.family = "g", .name = "four", .form = "read", .dials = {.ilp = 4}};
  std::vector<CaseResult> results;
  for (const int warps : {8, 16, 32, 48, 64})
    for (const int block : {128, 256})
      for (const Variant* variant : {&one, &four}) {
        CaseResult r = with_warps(*variant, warps, variant == &one ? 20 : block == 128 ? 30 : 60);
        r.planned.spec.block_size = block;
        r.planned.id = r.planned.spec.id();
        results.push_back(r);
      }
  EXPECT_EQ(first_words(results, Kind::other_dial),
            "ILP 4 instead of 1 gives 3.00 x the rate with 8 warps per SM, 3.00 x with 64 (reads, blocks of "
            "256)");
}

TEST(Findings, ReportsGainOrLossOfARegisterCap) {
  std::vector<CaseResult> results{with_registers(capped, 32, 64, 50, 96),
                                  with_registers(capped, 40, 48, 90, 40), with_registers(loads, 64, 32, 80),
                                  with_registers(loads, 72, 24, 70), with_registers(loads, 80, 20, 60)};
  auto all = highlights(results);
  const findings::Finding* pays = of_kind(all, Kind::register_cap);
  ASSERT_NE(pays, nullptr);
  EXPECT_EQ(pays->words,
            "reads gain 12.5 % at best with 40 registers instead of the compiler's 64 (40 B spilled)");
  ASSERT_EQ(pays->cases.size(), 2u);  // of the cap and of the compiler's choice
  EXPECT_NE(pays->cases[0].find("capped"), std::string::npos) << pays->cases[0];
  results[1] = with_registers(capped, 40, 48, 60, 40);
  all = highlights(results);
  const findings::Finding* costs = of_kind(all, Kind::register_cap);
  ASSERT_NE(costs, nullptr);
  EXPECT_EQ(costs->words,
            "reads lose 25.0 % at best with 40 registers instead of the compiler's 64 (40 B spilled)");
  results[1] = with_registers(capped, 40, 48, 80.5, 40);
  EXPECT_EQ(of_kind(highlights(results), Kind::register_cap), nullptr);
}

TEST(Findings, ColumnFactsMatchTheSchema) {
  CaseResult confined = measured("b_warps", loads, 8, 50);
  confined.sms_by_gpc = "16+16";
  EXPECT_EQ(findings::Rows::of({confined}).text(0, "sms_by_gpc"), "16+16");
  EXPECT_NE(std::ranges::find(findings::requested_columns(), "sm_count"),
            findings::requested_columns().end());
  EXPECT_FALSE(findings::is_text_column("sm_count"));
  const auto rank = [](const std::string& column) { return findings::facts_of(column)->split_order; };
  EXPECT_TRUE(std::ranges::is_sorted(findings::requested_columns(), {}, rank));
  EXPECT_LT(rank(findings::requested_columns().front()), 0);
  EXPECT_GT(rank(findings::requested_columns().back()), 0);
  EXPECT_EQ(findings::facts_of("mystery"), nullptr);
}

TEST(Findings, ReportsABlockSizeFasterThanTheApiPick) {
  std::vector<CaseResult> results;
  for (const int block : {64, 128, 256, 512, 1024})
    results.push_back(with_block(block, block == 128 ? 90 : 72, 1024));
  const auto all = highlights(results);
  const findings::Finding* pick = of_kind(all, Kind::api_pick);
  ASSERT_NE(pick, nullptr);
  EXPECT_EQ(pick->words, "for reads the occupancy API picks blocks of 1,024; 128 are 25 % faster");
  EXPECT_EQ(pick->cases.size(), 1u);
  for (CaseResult& r : results) r.block_size_api = 128;
  EXPECT_EQ(of_kind(highlights(results), Kind::api_pick), nullptr);
  for (CaseResult& r : results) r.block_size_api.reset();  // a model has none
  EXPECT_EQ(of_kind(highlights(results), Kind::api_pick), nullptr);
}

TEST(Findings, ReportsTheWaveTailAsAStep) {
  std::vector<CaseResult> results;
  for (const int grid : {132, 264, 265, 396, 397}) {
    CaseResult r = measured("d_waves", chain, 4, grid / ((grid + 131) / 132) * 0.1);
    r.planned.spec.grid_size = r.planned.launch.grid_size = grid;
    r.planned.wave_blocks = 132;
    results.push_back(r);
  }
  const auto all = highlights(results);
  const findings::Finding* step = of_kind(all, Kind::step);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->words, "`chain` loses 33.3 % from 2 to 2.008 waves");
}

TEST(Findings, ComparesTextbookWithResidentOccupancy) {
  CaseResult r = measured("a_registers", loads, 32, 50);
  EXPECT_TRUE(highlights({r}).empty());
  r.planned.occupancy_textbook = 1;
  auto all = highlights({r});
  const findings::Finding* gap = of_kind(all, Kind::textbook);
  ASSERT_NE(gap, nullptr) << "no curve is needed";
  EXPECT_EQ(gap->words,
            "for 32 registers and blocks of 128 plain division gives 100 % occupancy; the SM has 50 %");
  r.planned.occupancy_textbook = 0.5;
  r.blocks_per_sm_resident = 6;  // of 8
  all = highlights({r});
  ASSERT_NE(of_kind(all, Kind::textbook), nullptr);
  EXPECT_EQ(of_kind(all, Kind::textbook)->words,
            "for 32 registers and blocks of 128 plain division gives 50 % occupancy; the SM has 38 %");
  r.planned.occupancy.limiters = theory::Limiter::shared_memory;
  r.planned.footprint.dynamic_smem_bytes = 32 << 10;
  all = highlights({r});
  ASSERT_NE(of_kind(all, Kind::textbook), nullptr);
  EXPECT_EQ(
      of_kind(all, Kind::textbook)->words,
      "for 32 registers, 32 KiB of shared memory and blocks of 128 plain division gives 50 % occupancy; the "
      "SM has 38 %");
}

TEST(Findings, ReportsModelErrorsOnlyOfMeasurements) {
  CaseResult r = measured("a_registers", loads, 32, 50);
  r.work.bytes = 1;
  r.planned.forecast.prediction = {.time_s = r.time_s.median * 2};
  const auto all = highlights({r});
  const findings::Finding* miss = of_kind(all, Kind::model_miss);
  ASSERT_NE(miss, nullptr);
  EXPECT_EQ(miss->words, "the model misses 1 of 1 case by over 10 %, most for reads at 32 registers: -50 %");
  r.planned.forecast.prediction->time_s = r.time_s.median * 1.05;
  EXPECT_TRUE(highlights({r}).empty());
  r.planned.forecast.prediction->time_s = r.time_s.median * 2;
  nlohmann::json of_model = environment();
  of_model["source"] = "model";
  EXPECT_TRUE(
      findings::most_telling(findings::findings_of_run(findings::Rows::of({r}), of_model), 5).empty());
}

TEST(Findings, SortsByScoreAndLimitsEachExperiment) {
  auto results = registers_with_cliff(loads, 0.21);
  for (const int warps : {4, 8, 12, 16, 32, 64})
    results.push_back(with_warps(loads, warps, warps <= 12 ? 8.0 * warps : 96 - 0.75 * (warps - 12)));
  for (const int block : {64, 128, 256, 512, 1024})
    results.push_back(with_block(block, block == 128 ? 90 : 45, 1024));
  const auto all = highlights(results);
  ASSERT_GE(all.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(all, std::ranges::greater{},
                                     [](const Highlight& t) { return t.finding.score; }));
  EXPECT_EQ(all.front().experiment, "b_warps") << "the knee at 19 % of a best near the ceiling";
  for (const char* experiment : {"a_registers", "b_warps", "c_block"})
    EXPECT_LE(std::ranges::count(all, experiment, &Highlight::experiment), 2)
        << "five over three experiments";
  EXPECT_EQ(highlights(results, 1).size(), 1U);
  // The order in which cases were run says nothing.
  std::ranges::reverse(results);
  const auto again = highlights(results);
  ASSERT_EQ(again.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(again[i].finding.words, all[i].finding.words);
}

}  // namespace
}  // namespace occbench
