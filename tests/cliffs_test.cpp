// SPDX-License-Identifier: Apache-2.0
// Steps in curves, sweeps of made-up rows, and what is said of a cliff.
#include "benchmarks/report/findings/cliffs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/report/findings/steps.hpp"
#include "benchmarks/report/findings/sweeps.hpp"

namespace occbench::findings {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Rows of one experiment; cells: variant, form, block_size, register_cap, dynamic_smem_bytes, idle_values.
Rows rows_of(const std::vector<std::string>& cells) {
  std::string csv =
      "experiment,family,curve,status,throughput,throughput_unit,register_route,occupancy_theoretical,"
      "warps_per_sm,blocks_per_sm,waves,case_id,variant,form,block_size,register_cap,dynamic_smem_bytes,"
      "idle_values\n";
  for (std::size_t i = 0; i < cells.size(); ++i)
    csv += "e,f,c,valid,1e12,byte/s,free,1,64,8,1,id" + std::to_string(100 + i) + "," + cells[i] + "\n";
  return Rows::of_csv(csv, "cases.csv");
}

TEST(Steps, IgnoreSingleOutliers) {
  std::vector<double> x;
  std::vector<double> y(30, 1.0);
  for (int i = 0; i < 30; ++i) x.push_back(i);
  y[12] = 0.8;
  EXPECT_TRUE(find_steps(x, y, 0.01, 0.001).empty());
  for (std::size_t i = 20; i < 30; ++i) y[i] *= 0.9;
  const std::vector<Step> steps = find_steps(x, y, 0.01, 0.001);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].place, 19u);
  EXPECT_NEAR(1 - std::exp(steps[0].height), 0.1, 0.001);
  EXPECT_TRUE(find_steps(x, y, 0.01, 0.001, {19}).empty());
}

TEST(Sweeps, GroupRowsThatDifferInOneDial) {
  struct Example {
    const char* what;
    std::vector<std::string> cells;
    std::vector<std::string> names;
  };
  const std::vector<Example> examples{
      {"two points", {"v,r,32,,0,", "v,r,64,,0,"}, {}},
      {"a value twice", {"v,r,32,,0,", "v,r,64,,0,", "v,r,64,,0,"}, {}},
      {"variants of a dial that is not compiled", {"a,r,32,,0,", "b,r,64,,0,", "c,r,96,,0,"}, {}},
      {"blocks", {"v,r,32,,0,", "v,r,64,,0,", "v,r,96,,0,"}, {"block_size: v"}},
      {"bytes per thread", {"v,r,32,,320,", "v,r,64,,640,", "v,r,96,,960,"}, {"block_size: v"}},
      {"variants of a form", {"a,r,32,24,0,", "b,r,32,32,0,", "c,r,32,40,0,"}, {"register_cap: c"}},
      {"idle values follow", {"a,r,32,24,0,1", "b,r,32,32,0,2", "c,r,32,40,0,3"}, {"register_cap: c"}},
      {"another block size is named",
       {"v,r,32,,0,", "v,r,32,,1,", "v,r,32,,2,", "v,r,64,,0,", "v,r,64,,1,", "v,r,64,,2,"},
       {"dynamic_smem_bytes: v, block_size 32", "dynamic_smem_bytes: v, block_size 64"}}};
  for (const Example& example : examples) {
    std::vector<std::string> names;
    for (const Sweep& sweep : find_sweeps(rows_of(example.cells)))
      names.push_back(sweep.dial + ": " + sweep.name);
    EXPECT_EQ(names, example.names) << example.what;
  }
}

TEST(Sweeps, DialsMatchTheSchema) {
  EXPECT_EQ(swept_dials().size(), 17u);
  EXPECT_EQ(swept_dials()[10], "ilp");  // in file order behind those that are looked for first
  EXPECT_EQ(swept_dials().back(), "tile_width");
}

TEST(Cliffs, FormatsDrops) {
  EXPECT_EQ(drop_words(-12.007, none, none), "gain x 13");
  EXPECT_EQ(drop_words(-1.31, -1.4, -1.2), "gain x 2.31 (2.2 to 2.4)");
  EXPECT_EQ(drop_words(0.125, 0.121, 0.129), "12.5 % (12.1 to 12.9)");
  EXPECT_EQ(drop_words(-0.3, none, none), "-30.0 %");
  EXPECT_EQ(drop_words(-0.0001, none, none), "0.0 %");
}

}  // namespace
}  // namespace occbench::findings
