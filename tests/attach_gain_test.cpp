// SPDX-License-Identifier: Apache-2.0
// The law by which `occbench attach` looks upwards, compared with curves that the suite measured on real GPUs
// (results/): the highest residency of each is hidden, and predicted from those below it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/attach/analysis/verdict.hpp"
#include "harness/io/csv.hpp"
#include "tests/committed_runs.hpp"

namespace occbench::attach {
namespace {

struct Point {
  double time = 0;   ///< of one piece of work
  double error = 0;  ///< half its interval, relative
};
/// By resident blocks, most first.
using Curve = std::map<int, Point, std::greater<>>;

/// Curves of one experiment and kernel over its residency, by name; the machine code is the same all along.
std::map<std::string, Curve> curves(const std::filesystem::path& cases) {
  std::ifstream file(cases);
  const csv::Row header = csv::read(file)->fields;
  std::map<std::string, Curve> found;
  while (const auto record = csv::read(file)) {
    const auto cell = [&](const char* name) {
      const auto at = std::ranges::find(header, name) - header.begin();
      return record->fields.at(static_cast<std::size_t>(at));
    };
    const bool is_plain = cell("status") == "valid" && cell("waves") == "1" && cell("cluster_size") == "1" &&
                          cell("asked_block_s").empty() && !cell("throughput").empty();
    if (!is_plain) continue;
    const double median = std::stod(cell("time_median_s"));
    const double width = std::stod(cell("time_ci95_high_s")) - std::stod(cell("time_ci95_low_s"));
    std::string name;
    for (const char* part : {"experiment", "family", "variant", "block_size", "carveout_percent"})
      name += cell(part) + '.';
    found[name].try_emplace(std::stoi(cell("blocks_per_sm")),
                            Point{1 / std::stod(cell("throughput")), width / median / 2});
  }
  return found;
}

/// The levels nearest to attach's own: three quarters, half and a quarter of `natural`. Empty where the
/// curve has none for the first.
std::vector<Slowdown> levels_below(const Curve& curve, int natural) {
  const Point& now = curve.at(natural);
  std::vector<Slowdown> levels;
  int last = natural;
  for (const double share : {0.75, 0.5, 0.25}) {
    const int wanted = std::clamp(static_cast<int>(std::lround(share * natural)), 1, natural - 1);
    int nearest = 0;
    for (const auto& [blocks, point] : curve)
      if (blocks < last && std::abs(blocks - wanted) < std::abs(nearest - wanted)) nearest = blocks;
    if (levels.empty() && 2 * nearest < natural - 1) return {};
    if (nearest == 0) continue;
    last = nearest;
    const Point& low = curve.at(nearest);
    const double ratio = low.time / now.time, error = std::hypot(low.error, now.error);
    levels.push_back(
        {.warps = static_cast<double>(nearest) / natural,
         .change = {.value = ratio - 1, .low = ratio * (1 - error) - 1, .high = ratio * (1 + error) - 1}});
  }
  return levels;
}

TEST(AttachGain, UsesTheNextLevelIfTheFirstShowsNoSlowdown) {
  const auto gain = [](double first, double error) {
    const std::vector<Slowdown> levels{{.warps = 0.75, .change = {first, first - error, first + error}},
                                       {.warps = 0.5, .change = {0.3, 0.29, 0.31}},
                                       {.warps = 0.2, .change = {9, 8.9, 9.1}}};  // too few warps to tell
    const Change found = gain_of(levels, 4, 5);
    EXPECT_LE(found.low, found.value);
    EXPECT_LE(found.value, found.high);
    EXPECT_LE(found.high, 0.2);  // what one block more of five can bring
    return found.value;
  };
  const double by_second = std::pow(0.3, 1.5) * 0.2;
  EXPECT_NEAR(gain(-0.05, 0.01), by_second, 1e-9);
  EXPECT_NEAR(gain(0, 0.01), by_second, 1e-9);
  EXPECT_NEAR(gain(0.005, 0.01), by_second, 1e-9);  // its error may be all of it
  EXPECT_NEAR(gain(0.02, 0.01), std::pow(0.06, 1.5) * 0.2, 1e-9);
}

TEST(AttachGain, PredictsTheHiddenTopLevelOfCommittedRuns) {
  ASSERT_FALSE(committed_runs().empty());
  for (const auto& run : committed_runs()) {
    std::set<std::string> kernels;
    int all = 0, inside = 0, promised = 0, promised_inside = 0, gaining = 0, seen = 0;
    for (const auto& [name, curve] : curves(run / "cases.csv")) {
      if (curve.size() < 3) continue;
      const auto& [hidden, truth] = *curve.begin();
      const auto& [natural, now] = *std::next(curve.begin());
      if (natural < 2 || 2 * hidden > 3 * natural) continue;
      const std::vector<Slowdown> levels = levels_below(curve, natural);
      if (levels.empty()) continue;
      const Change gain = gain_of(levels, natural, hidden);
      const double gained = 1 - truth.time / now.time;
      kernels.insert(name);
      ++all;
      const bool is_inside = gain.low <= gained && gained <= gain.high;
      inside += is_inside;
      constexpr double worth_a_step = 0.03;
      if (gain.value >= worth_a_step) {
        ++promised;
        promised_inside += is_inside;
      }
      if (gained > worth_a_step) {
        ++gaining;
        if (gain.value > 0) ++seen;
      }
    }
    std::cout << run.string() << ": inside " << inside << " of " << all
              << ", of those with 3 % and more to gain " << promised_inside << " of " << promised
              << "; sign right " << seen << " of " << gaining << '\n';
    EXPECT_GE(kernels.size(), 60);
    EXPECT_GE(inside, 0.9 * all);
    EXPECT_GE(promised_inside, 0.8 * promised);
    EXPECT_GE(seen, 0.85 * gaining);
  }
}

}  // namespace
}  // namespace occbench::attach
