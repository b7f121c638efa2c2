// SPDX-License-Identifier: Apache-2.0
// The closing words on a committed run: what a terminal shows at its end, without the GPU.
#include "benchmarks/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "harness/csv.hpp"

namespace occbench {
namespace {

/// The valid rows of one experiment, as far as the summary reads them.
std::vector<CaseResult> read_results(const std::filesystem::path& folder, const std::string& experiment) {
  std::ifstream in(folder / "cases.csv");
  const auto header = csv::read(in);
  std::vector<CaseResult> results;
  while (const auto row = csv::read(in)) {
    const auto at = [&](const char* column) {
      return row->fields.at(
          static_cast<std::size_t>(std::ranges::find(header->fields, column) - header->fields.begin()));
    };
    if (at("experiment") != experiment || at("status") != "valid") continue;
    const auto variant = std::ranges::find_if(
        variants(), [&](const Variant& v) { return v.family == at("family") && v.name == at("variant"); });
    if (variant == variants().end()) continue;
    CaseResult r;
    r.planned.id = at("case_id");
    r.planned.spec = {
        .experiment = experiment, .variant = &*variant, .block_size = std::stoi(at("block_size"))};
    r.planned.occupancy = {.warps_per_sm = std::stoi(at("warps_per_sm")),
                           .fraction = std::stod(at("occupancy_theoretical"))};
    r.samples = std::stoul(at("samples"));
    r.time_s = {std::stod(at("time_median_s")), std::stod(at("time_ci95_low_s")),
                std::stod(at("time_ci95_high_s"))};
    r.throughput = std::stod(at("throughput"));
    r.ceiling = std::stod(at("ceiling"));
    r.per_cycle_per_sm = std::stod(at("per_cycle_per_sm"));
    results.push_back(r);
  }
  return results;
}

/// The runs of one GPU that are committed.
std::vector<std::filesystem::path> runs() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator("results/nvidia-h200"))
    if (std::filesystem::exists(entry.path() / "cases.csv")) folders.push_back(entry.path());
  return folders;
}

std::string summary(const std::vector<CaseResult>& results) {
  std::ostringstream out;
  print_listing(out, results);
  return out.str();
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
    const std::string text = summary(results);
    std::cout << run.string() << '\n' << text;
    std::map<std::string, int> curves;
    for (const CaseResult& r : results) ++curves[r.planned.spec.variant->name];
    for (const auto& [kernel, points] : curves)
      EXPECT_EQ(line_of(text, kernel).empty(), points < 3) << kernel;
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

TEST(Summary, HasNoFitsWithoutCurves) {
  ASSERT_FALSE(runs().empty());
  auto results = read_results(runs().front(), "registers");
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(summary(results).find("worth"), std::string::npos);
  results = read_results(runs().front(), "latency_hiding");
  std::erase_if(results, [](const CaseResult& r) { return r.planned.occupancy.warps_per_sm > 8; });
  const std::string text = summary(results);
  EXPECT_NE(text.find("latency_hiding: "), std::string::npos);
  EXPECT_EQ(text.find("worth"), std::string::npos);
}

}  // namespace
}  // namespace occbench
