// SPDX-License-Identifier: Apache-2.0
// The law by which `occbench attach` looks upwards, held against curves that the suite measured on real GPUs
// (results/): the highest residency of each is hidden, and foretold from the two below it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "harness/attach/verdict.hpp"
#include "harness/io/csv.hpp"

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

/// The resident blocks that are nearest to three quarters of `natural`, as attach's first level.
int level_below(const Curve& curve, int natural) {
  const int wanted = std::clamp(static_cast<int>(std::lround(0.75 * natural)), 1, natural - 1);
  int nearest = 0;
  for (const auto& [blocks, point] : curve)
    if (blocks < natural && 2 * blocks >= natural - 1 &&
        std::abs(blocks - wanted) < std::abs(nearest - wanted))
      nearest = blocks;
  return nearest;
}

TEST(AttachLaw, HoldsForTheSuitesKernelsWithTheirHighestLevelHidden) {
  int folders = 0, all_gaining = 0, all_seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(OCCBENCH_RESULTS)) {
    if (entry.path().filename() != "cases.csv") continue;
    ++folders;
    std::set<std::string> kernels;
    int all = 0, inside = 0, gaining = 0, seen = 0;
    for (const auto& [name, curve] : curves(entry.path())) {
      if (curve.size() < 3) continue;
      const auto& [hidden, truth] = *curve.begin();
      const auto& [natural, now] = *std::next(curve.begin());
      const int level = natural < 2 ? 0 : level_below(curve, natural);
      if (level == 0 || 2 * hidden > 3 * natural) continue;
      const Point& low = curve.at(level);
      const double ratio = low.time / now.time, error = std::hypot(low.error, now.error);
      const Change gain =
          gain_of(static_cast<double>(level) / natural,
                  {.value = ratio - 1, .low = ratio * (1 - error) - 1, .high = ratio * (1 + error) - 1},
                  natural, hidden);
      const double gained = 1 - truth.time / now.time;
      kernels.insert(name);
      ++all;
      if (gain.low <= gained && gained <= gain.high) ++inside;
      constexpr double worth_a_sign = 0.03;
      if (gained > worth_a_sign) {
        ++gaining;
        if (gain.value > 0) ++seen;
      }
    }
    std::cout << entry.path().parent_path().string() << ": inside " << inside << " of " << all
              << "; sign right " << seen << " of " << gaining << '\n';
    EXPECT_GE(kernels.size(), 60);
    EXPECT_GE(inside, 0.9 * all);
    all_gaining += gaining;
    all_seen += seen;
  }
  EXPECT_GE(all_seen, 0.75 * all_gaining) << "of all runs: one kernel is four in a hundred of a run's";
  EXPECT_GE(folders, 1);
}

}  // namespace
}  // namespace occbench::attach
