// SPDX-License-Identifier: Apache-2.0
// The closing words on committed runs and on made-up ones: what a terminal shows at its end, without the GPU.
#include "benchmarks/report/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/framework/experiments_json.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/folder.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/io/csv.hpp"
#include "tests/committed_runs.hpp"

namespace occbench {
namespace {

/// The valid rows of one experiment, or of all, as far as the closing words read them.
std::vector<CaseResult> read_results(const std::filesystem::path& folder,
                                     const std::string& experiment = "") {
  static const std::regex resident(R"([.]r(\d+))"), duration_us(R"([.]t(\d+)us)");
  std::ifstream in(folder / "cases.csv");
  const auto header = csv::read(in);
  std::vector<CaseResult> results;
  while (const auto row = csv::read(in)) {
    const auto at = [&](const char* column) {  // empty where an older run has no such column
      const auto i = std::ranges::find(header->fields, column) - header->fields.begin();
      return i < std::ssize(row->fields) ? row->fields[static_cast<std::size_t>(i)] : std::string();
    };
    const auto number = [&](const char* column) { return at(column).empty() ? 0 : std::stod(at(column)); };
    const auto whole = [&](const char* column) { return static_cast<int>(number(column)); };
    if ((!experiment.empty() && at("experiment") != experiment) || at("status") != "valid") continue;
    const auto variant =
        std::ranges::find_if(variants(), [family = at("family"), name = at("variant")](const Variant& v) {
          return v.family == family && v.name == name;
        });
    if (variant == variants().end()) continue;
    CaseResult r;
    Case& c = r.planned;
    c.id = at("case_id");
    c.spec = {.experiment = at("experiment"),
              .curve = !at("curve").empty()      ? at("curve")
                       : variant->series.empty() ? variant->name
                                                 : variant->series,
              .variant = &*variant,
              .block_size = whole("block_size"),
              .carveout_percent = whole("carveout_percent")};
    c.attributes.registers_per_thread = c.footprint.registers_per_thread = whole("registers_per_thread");
    c.attributes.local_bytes = static_cast<std::size_t>(number("local_bytes"));
    c.footprint.dynamic_smem_bytes = static_cast<std::size_t>(number("dynamic_smem_bytes"));
    c.occupancy = {.blocks_per_sm = whole("blocks_per_sm"),
                   .warps_per_sm = whole("warps_per_sm"),
                   .fraction = number("occupancy_theoretical")};
    c.occupancy_textbook = number("occupancy_textbook");
    // Of the dials that only an id tells: so many blocks asked for, and so long a block.
    std::smatch dial;
    if (std::regex_search(c.id, dial, resident)) c.spec.resident_blocks = std::stoi(dial[1]);
    if (std::regex_search(c.id, dial, duration_us)) c.spec.block_s = std::stoi(dial[1]) * 1e-6;
    c.launch.cluster_size = c.spec.cluster_size = whole("cluster_size");
    c.launch.grid_size = whole("grid_size");
    c.wave_blocks =
        number("waves") > 0 ? static_cast<int>(std::lround(number("grid_size") / number("waves"))) : 1;
    if (!at("block_size_api").empty()) r.block_size_api = whole("block_size_api");
    if (!at("blocks_per_sm_resident").empty()) r.blocks_per_sm_resident = whole("blocks_per_sm_resident");
    r.samples = static_cast<std::size_t>(number("samples"));
    r.discarded = static_cast<std::size_t>(number("discarded"));
    r.reached_precision = at("stop_reason") == "precision";
    r.time_s = {number("time_median_s"), number("time_ci95_low_s"), number("time_ci95_high_s")};
    r.time_p10_s = number("time_p10_s");
    r.time_p90_s = number("time_p90_s");
    r.throughput = number("throughput");
    r.ceiling = number("ceiling");
    r.per_cycle_per_sm = number("per_cycle_per_sm");
    if (const double predicted = number("throughput_predicted"); predicted > 0)
      c.forecast.prediction = {.time_s = r.throughput / predicted * r.time_s.median};
    results.push_back(r);
  }
  return results;
}

/// The runs of one GPU that are committed.
std::vector<std::filesystem::path> runs() { return committed_runs("nvidia-h200"); }

std::string listing(const std::vector<CaseResult>& results, const Planned& next = {}) {
  std::ostringstream out;
  print_listing(out, results, next, {});
  return out.str();
}

std::vector<std::string> summary(const std::vector<CaseResult>& results, const RunFacts& facts) {
  std::stringstream out;
  print_summary(out, results, facts);
  std::vector<std::string> lines;
  for (std::string line; std::getline(out, line);) lines.push_back(line);
  return lines;
}

/// Whether one of the lines holds these words.
bool says(const std::vector<std::string>& lines, const std::string& words) {
  return std::ranges::any_of(lines, [&](const std::string& l) { return l.find(words) != std::string::npos; });
}

/// With what is said of made-up results, as of a run.
RunFacts with_findings(RunFacts facts, const std::vector<CaseResult>& results,
                       const char* source = "measured") {
  facts.findings = findings::findings_of_run(
      findings::Rows::of(results),
      {{"schema_version", 6}, {"source", source}, {"experiments", experiments_json({})}});
  return facts;
}

RunFacts measured_facts() {
  return {.device = "NVIDIA H200",
          .has_predictions = true,
          .seconds = 52.3817,
          .preset = "standard",
          .folder = "results/nvidia-h200/2026-11-25-abc",
          .is_newest = true};
}

/// The table's line of a kernel.
std::string line_of(const std::string& text, const std::string& kernel) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("\n  (" + kernel + " .*)\n")) ? match[1].str() : "";
}

TEST(Summary, FitsEveryCurveOfACommittedRun) {
  ASSERT_FALSE(runs().empty());
  for (const auto& run : runs()) {
    const auto results = read_results(run, "latency_hiding");
    if (results.empty()) continue;
    const std::string text = listing(results);
    std::cout << run.string() << '\n' << text;
    std::map<std::string, int> curves;
    for (const CaseResult& r : results) ++curves[r.planned.spec.variant->name];
    for (const auto& [kernel, points] : curves)
      EXPECT_EQ(line_of(text, kernel).empty(), points < int(min_points)) << kernel;
    // What the README says of this GPU by hand: 4 cycles an FMA, 16 warps to hide them, a fifth warp that
    // starves.
    EXPECT_TRUE(std::regex_search(line_of(text, "two-operand-ilp1"),
                                  std::regex(R"( 14\.\d \(12-16\) .* 63 %  4\.\d\d \(4\.\d\d-4\.\d\d\))")))
        << line_of(text, "two-operand-ilp1");
    EXPECT_TRUE(
        std::regex_search(line_of(text, "two-operand-ilp2"), std::regex(R"( (1\.9|2\.0)\d \(.*\) of 2$)")))
        << line_of(text, "two-operand-ilp2");
  }
}

TEST(Summary, OmitsFitsWithoutCurves) {
  ASSERT_FALSE(runs().empty());
  auto results = read_results(runs().front(), "registers");
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(listing(results).find("worth"), std::string::npos);
  results = read_results(runs().front(), "latency_hiding");
  std::erase_if(results, [](const CaseResult& r) { return r.planned.occupancy.warps_per_sm > 8; });
  const std::string text = listing(results);
  EXPECT_NE(text.find("latency_hiding: "), std::string::npos);
  EXPECT_EQ(text.find("worth"), std::string::npos);
}

TEST(Summary, FitsCommittedRunsOnOneScreen) {
  for (const auto& run : runs()) {
    const auto results = read_results(run);
    RunFacts facts = measured_facts();
    facts.findings = findings::read_findings(run).all;
    const auto lines = summary(results, facts);
    for (const std::string& line : lines) {
      std::cout << line << '\n';
      EXPECT_LE(line.size(), summary_columns) << line;
    }
    EXPECT_LE(lines.size(), max_summary_lines);
    EXPECT_TRUE(lines.front().starts_with("NVIDIA H200: ")) << lines.front();
    EXPECT_TRUE(says(lines, " cases in 52 s, ")) << lines.front();
    const auto telling = findings::most_telling(facts.findings, 5);
    ASSERT_EQ(telling.size(), 5U);
    EXPECT_EQ(lines.back(), "next   occbench report    occbench explain " + telling[0].experiment);
    const bool predicted = std::ranges::any_of(
        results, [](const CaseResult& r) { return r.planned.forecast.prediction.has_value(); });
    EXPECT_EQ(says(lines, "predictions: "), predicted);
  }
}

TEST(Summary, AveragesErrorsOverPredictedCases) {
  auto results = read_results(runs().front(), "registers");
  ASSERT_GE(results.size(), 2U);
  results.resize(2);
  results[0].planned.forecast.prediction = {.time_s = 1.5 * results[0].time_s.median};
  results[1].planned.forecast.prediction.reset();
  std::string text;
  for (const std::string& line : summary(results, measured_facts())) text += line + '\n';
  EXPECT_NE(text.find("predictions: 50 % off on average"), std::string::npos) << text;
}

TEST(Summary, BurnInPointsToFleetCheck) {
  RunFacts facts = measured_facts();
  facts.preset = "burn-in";
  facts.findings = findings::read_findings(runs().front()).all;
  const auto lines = summary(read_results(runs().front()), facts);
  EXPECT_EQ(lines.back(), "next   occbench fleet check DIR, which holds the folders of all cards");
  EXPECT_FALSE(says(lines, "occbench explain"));
}

const std::string long_name(60, 'n');

void no_cases(Sweep&) {}
std::vector<std::string> many_names() {
  std::vector<std::string> names;
  for (char c = 'a'; c <= 'z'; ++c)
    names.push_back(std::string(1, c) + "_made_up_experiment_of_a_very_long_name");
  return names;
}
const std::vector<AddExperiment> many = [] {
  std::vector<AddExperiment> all;
  for (const std::string& name : many_names())
    all.push_back(
        AddExperiment({.name = name, .question = "?", .dial = "registers_per_thread", .define = no_cases}));
  return all;
}();

const Variant& long_variant() {
  static const Variant v{.family = "family", .name = long_name};
  return v;
}

/// A curve of `points` with a cliff in its middle, in an experiment of a long name.
std::vector<CaseResult> curve(const std::string& experiment, int points, bool is_modelled = false) {
  std::vector<CaseResult> results;
  for (int i = 0; i < points; ++i) {
    CaseResult r;
    r.planned.spec = {.experiment = experiment, .variant = &long_variant(), .block_size = 1024};
    r.planned.id = r.planned.spec.id() + std::to_string(i);
    r.planned.is_modelled = is_modelled;
    r.planned.footprint.registers_per_thread = r.planned.attributes.registers_per_thread = 100 + i;
    const int warps = i < points / 2 ? 64 : 32;
    r.planned.occupancy = {.blocks_per_sm = warps / 32, .warps_per_sm = warps, .fraction = warps / 64.0};
    r.samples = is_modelled ? 0 : 12;
    r.throughput = warps * 1e10;
    r.time_s = {1e-3, 0.999e-3, 1.001e-3};
    r.speeds = {.fast = 1e-3, .slow = 1.2e-3, .slow_share = 0.4};
    results.push_back(r);
  }
  return results;
}

TEST(Summary, FitsOneScreenWithLongNamesAndFailures) {
  std::vector<CaseResult> results;
  for (const std::string& name : many_names()) {
    const auto more = curve(name, 8);
    results.insert(results.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < results.size(); i += 3) {
    results[i].planned.status = i % 2 == 0 ? Status::invalid : Status::skipped;
    results[i].planned.reason = "reason " + std::to_string(i) + " " + long_name;
  }
  RunFacts facts = measured_facts();
  facts = with_findings(facts, results);
  facts.has_predictions = facts.is_newest = false;
  facts.rows_before = 1234;
  facts.expected = 2394;
  for (const bool interrupted : {false, true}) {
    facts.interrupted = interrupted;
    const auto lines = summary(results, facts);
    EXPECT_LE(lines.size(), max_summary_lines);
    for (const std::string& line : lines) EXPECT_LE(line.size(), summary_columns) << line;
    EXPECT_TRUE(says(lines, "invalid: ")) << "what failed is told";
    EXPECT_TRUE(says(lines, "more cases invalid: cases.csv says why"));
    EXPECT_TRUE(says(lines, "cases have launches of two speeds"));
    EXPECT_TRUE(says(lines, "1,234 rows were there before"));
    EXPECT_TRUE(says(
        lines, std::string("next   occbench ") + (interrupted ? "run --resume " : "report ") + facts.folder));
    EXPECT_EQ(lines.front().starts_with("NVIDIA H200: interrupted after 208 of 2,394 cases, "), interrupted)
        << lines.front();
  }
}

TEST(Summary, CountsExperimentsWithTooFewPoints) {
  const auto names = many_names();
  auto results = curve(names[0], 3);
  for (const auto& [name, points] : {std::pair{names[1], 2}, std::pair{names[2], 8}}) {
    const auto more = curve(name, points);
    results.insert(results.end(), more.begin(), more.end());
  }
  RunFacts facts = measured_facts();
  facts.preset = "quick";
  facts.next = {.preset = "standard", .values = {{names[0], 12}, {names[1], 5}, {names[2], 20}}};
  facts = with_findings(facts, results);
  auto lines = summary(results, facts);
  EXPECT_TRUE(says(lines, "2 experiments: too few points for a curve in quick; --preset standard has them"));
  EXPECT_FALSE(says(lines, clip(names[0], 24))) << "and nothing of them is told";
  EXPECT_NE(listing(results, facts.next)
                .find("not enough points: at most 3 per curve; --preset "
                      "standard has 12"),
            std::string::npos);
  facts.next.values[names[1]] = 3;  // it would have too few there too
  EXPECT_TRUE(says(summary(results, facts), "1 experiment: too few points for a curve in quick;"));
  facts.next = {};
  EXPECT_FALSE(says(summary(results, facts), "too few points"));
}

TEST(Summary, ModelRunsSayPredictedNotMeasured) {
  RunFacts facts = measured_facts();
  facts.device = "model of H200";
  facts.is_model = true;
  const auto results = curve(many_names()[0], 8, true);
  const auto lines = summary(results, with_findings(facts, results, "model"));
  EXPECT_EQ(lines.front(), "The model of an H200 predicts 8 cases in 52 s");
  EXPECT_FALSE(says(lines, "measured"));
  EXPECT_FALSE(says(lines, "+-")) << "nor is it precise";
  EXPECT_EQ(lines[lines.size() - 2], "next   occbench report");
  EXPECT_EQ(lines.back(), "       occbench explain " + many_names()[0]) << "too long for one line of both";
}

TEST(ReportFormat, NumbersHaveSignificantDigits) {
  EXPECT_EQ(duration(0.4567), "0.46 s");
  EXPECT_EQ(duration(8.37), "8.4 s");
  EXPECT_EQ(duration(52.3817), "52 s");
  EXPECT_EQ(duration(59.7), "1 min 0 s");
  EXPECT_EQ(duration(252), "4 min 12 s");
  EXPECT_EQ(duration(3900), "1 h 5 min");
  EXPECT_EQ(format_throughput(4.4188e12, Ceiling::dram), "4.42 TB/s");
  EXPECT_EQ(format_throughput(999.6e9, Ceiling::dram), "1.00 TB/s");
  EXPECT_EQ(format_throughput(65.72e12, Ceiling::fp32), "65.7 TFLOP/s");
  EXPECT_EQ(format_throughput(412.4e9, Ceiling::issue), "412 G operations/s");
  EXPECT_EQ(count_of(1, "case"), "1 case");
  EXPECT_EQ(count_of(2394, "case"), "2,394 cases");
}

TEST(ReportFormat, WrapsAtBlanksAndClips) {
  EXPECT_EQ(wrap_and_clip("one two three", 7, 2), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap_and_clip("one two three four", 8, 2), (std::vector<std::string>{"one two", "three..."}));
  EXPECT_EQ(wrap_and_clip("costs up to 40 %", 14, 2), (std::vector<std::string>{"costs up to", "40 %"}))
      << "with its unit";
  EXPECT_EQ(wrap_and_clip("a cap (12 -> 100 %)", 14, 2),
            (std::vector<std::string>{"a cap", "(12 -> 100 %)"}));
  EXPECT_EQ(wrap_and_clip("ends with 4 ", 20, 1), std::vector<std::string>{"ends with 4"});
  EXPECT_EQ(wrap_and_clip("", 8, 2), std::vector<std::string>{""});
}

}  // namespace
}  // namespace occbench
