// SPDX-License-Identifier: Apache-2.0
// From times to parameters: the recipes against a made-up device whose costs are known. No device needed.
#include "benchmarks/calibration/calibration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/l1.hpp"
#include "tests/catalogue_sample.hpp"

namespace occbench {
namespace {

constexpr double sm_count = 132;
constexpr double clock_hz = 2e9;
constexpr double warps_per_sm = 64;

std::vector<Recipe> recipes() { return calibration_recipes(theory::find_device("h200").sm); }

const Recipe& recipe_of(const std::vector<Recipe>& all, std::string_view parameter) {
  return *std::ranges::find(all, parameter, &Recipe::parameter);
}

/// A kernel whose iteration takes `cycles`.
Reading iteration_of(double cycles, double warps = warps_per_sm) {
  return {.iterations = 1000,
          .warps_per_sm = warps,
          .waves = 1,
          .sm_count = sm_count,
          .time_s = 1000 * cycles / clock_hz,
          .clock_hz = clock_hz};
}
Reading moving(double bytes_per_s) {
  return {.bytes = bytes_per_s * 1e-3, .sm_count = sm_count, .time_s = 1e-3, .clock_hz = clock_hz};
}
Reading waiting(double own_cycles) {
  return {.time_s = 1e-3, .clock_hz = clock_hz, .own_cycles = own_cycles};
}
Reading waiting_at(double own_cycles, double bytes_per_s) {
  Reading r = moving(bytes_per_s);
  r.own_cycles = own_cycles;
  return r;
}

std::vector<Measurement> exact(const std::vector<Reading>& readings) {
  std::vector<Measurement> all;
  for (const Reading& r : readings) all.push_back({.median = r, .low = r, .high = r});
  return all;
}

/// Exact readings of each parameter's recipe, and what they are readings of.
using MadeUp = std::map<std::string_view, std::pair<std::vector<Reading>, double>>;

void expect_truth(const Recipe& recipe, const MadeUp& made_up) {
  SCOPED_TRACE(std::string(recipe.parameter));
  ASSERT_TRUE(made_up.contains(recipe.parameter));
  const auto& [readings, truth] = made_up.at(recipe.parameter);
  ASSERT_EQ(readings.size(), recipe.cases.size());
  const Estimate found = estimate(recipe, exact(readings));
  ASSERT_TRUE(found.value.has_value()) << found.method;
  for (const auto& end : {found.value, found.low, found.high}) EXPECT_NEAR(*end / truth, 1, 1e-9);
  EXPECT_TRUE(found.method.starts_with(recipe.method)) << found.method;
}

TEST(Recipes, MatchTheParametersInOrder) {
  const auto all = recipes();
  const auto fields = theory::parameter_fields();
  ASSERT_EQ(all.size(), fields.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].parameter, fields[i].name);
    EXPECT_FALSE(all[i].method.empty()) << fields[i].name;
    EXPECT_EQ(all[i].method.find('\n'), std::string::npos) << fields[i].name;
    EXPECT_EQ(all[i].cases.empty(), all[i].value == nullptr) << fields[i].name;
  }
}

TEST(Recipes, UseOnlyCalibrationKernelsOnEveryDevice) {
  std::vector<std::string> names = sample_of_catalogue();
  for (const std::string& cc : theory::compute_capabilities()) names.push_back("cc" + cc);
  for (const std::string& name : names) {
    const theory::SmLimits sm = theory::find_device(name).sm;
    for (const Recipe& recipe : calibration_recipes(sm))
      for (const CaseSpec& c : recipe.cases) {
        EXPECT_EQ(c.variant->family, "calibration") << name << ": " << c.id();
        EXPECT_GT(c.block_size, 0) << name << ": " << c.id();
        EXPECT_EQ(c.block_size % 32, 0) << name << ": " << c.id();
        EXPECT_LE(c.block_size, sm.max_threads_per_block) << name << ": " << c.id();
        EXPECT_LE(c.resident_blocks * c.block_size, sm.max_threads_per_sm) << name << ": " << c.id();
      }
  }
}

TEST(Recipes, GroupsSeparateWarmAndFlushedL2) {
  const auto all = recipes();
  std::set<std::string> ids;
  for (const auto& group : calibration_groups(all)) {
    ASSERT_FALSE(group.empty());
    const bool warm = group.front().variant->l2_before == L2::warm;
    for (const CaseSpec& c : group) {
      EXPECT_TRUE(ids.insert(c.id()).second) << c.id() << " is measured twice";
      EXPECT_EQ(c.variant->l2_before == L2::warm, warm) << c.id();
    }
  }
  for (const Recipe& recipe : all)
    for (const CaseSpec& c : recipe.cases) EXPECT_TRUE(ids.contains(c.id())) << c.id() << " is not measured";
}

TEST(Recipes, RecoverTheParametersOfASyntheticDevice) {
  // Loops cost 30 cycles beside their instructions; where several shapes are tried, one is the best.
  const double per_scheduler = warps_per_sm / 4;
  const double branch = 11;
  const auto fma_iteration = [&](int n) {
    return 4 * (n - 1) + 1 + branch;
  };  // it issues a cycle behind the last
  const auto turn = [](double waves, double iterations) {
    const double time_s = 5e-6 + waves * iterations * 70e-9 + (waves - 1) * 650 / clock_hz;
    return Reading{.iterations = iterations, .waves = waves, .time_s = time_s, .clock_hz = clock_hz};
  };
  /// 2 and 8 barriers an iteration, that take so long per warp in large blocks and in blocks of one.
  const auto crowded = [](double large, double one) {
    std::vector<Reading> readings;
    for (const auto& [warps, cycles] : {std::pair{64.0, large}, std::pair{32.0, one}})
      for (const double barriers : {2, 8})
        readings.push_back(iteration_of(30 + barriers * warps * cycles, warps));
    return readings;
  };
  /// The same in blocks of one warp, without and with a register.
  const auto both_kinds = [](double without, double with) {
    std::vector<Reading> readings;
    for (const double cycles : {without, with})
      for (const double barriers : {2, 8}) readings.push_back(iteration_of(30 + barriers * 32 * cycles, 32));
    return readings;
  };
  const MadeUp made_up{
      {"sm_clock", {{iteration_of(1)}, clock_hz}},
      {"tensor_clock", {{{.clock_hz = 1.7e9}}, 1.7e9}},
      {"alu_interval",
       {{iteration_of(30 + 120 * 2.0 * per_scheduler), iteration_of(30 + 480 * 2.0 * per_scheduler)}, 2}},
      {"operand_interval",
       {{iteration_of(30 + 128 * 2.1 * per_scheduler), iteration_of(30 + 512 * 2.1 * per_scheduler)}, 2.1}},
      {"mma_interval",
       {{iteration_of(48 * 7.0 * 3, 12), iteration_of(48 * 6.1 * 4, 16), iteration_of(48 * 6.2 * 5, 20)},
        6.1}},
      {"branch", {{iteration_of(fma_iteration(8)), iteration_of(fma_iteration(32))}, branch}},
      {"barrier", {{iteration_of(30 + 2 * 23.0), iteration_of(30 + 8 * 23.0)}, 23}},
      {"barrier_arrival", {crowded(2.0 + 1.5 / 32, 2.0 + 1.5), 2.0}},
      {"barrier_release", {crowded(2.0 + 1.5 / 32, 2.0 + 1.5), 1.5}},
      {"barrier_register", {both_kinds(3.0, 4.75), 1.75}},
      {"shared_latency", {{iteration_of(12 * 23.0)}, 23}},
      {"shared_bandwidth",
       {{moving(100 * clock_hz * sm_count), moving(127 * clock_hz * sm_count),
         moving(90 * clock_hz * sm_count)},
        127}},
      // A lone chain in a cache too small for it: 70 % miss the 28 KiB less what is reserved.
      {"l1_reserved",
       {{waiting(0.3 * 32 + 0.7 * 270), waiting(32), waiting(270)},
        1024 * 28 - 128 * theory::capacity_from_hit_rate(256, 0.3)}},
      {"l1_latency", {{waiting(32)}, 32}},
      {"l1_bandwidth", {{moving(1), moving(2), moving(120 * clock_hz * sm_count)}, 120}},
      {"l2_latency", {{waiting(270)}, 270}},
      {"l2_bandwidth", {{moving(5e12), moving(6e12), moving(5.5e12)}, 6e12}},
      {"spill_store_bandwidth", {{moving(3e12), moving(4e12), moving(3.5e12)}, 4e12}},
      {"spill_store_bandwidth_8_warps", {{moving(2e12)}, 2e12}},
      {"sm_port_bandwidth", {{moving(60 * clock_hz)}, 60}},
      {"dram_latency", {{waiting(660)}, 330e-9}},
      {"dram_spread", {{waiting(80)}, 40e-9}},
      // At 40 % of 4 TB/s 200 cycles more than idle, hence 300 more at 50 %; the others are farther off.
      {"dram_loaded_latency",
       {{waiting(660), moving(3e12), moving(4e12), moving(3.5e12), waiting_at(9999, 1e12),
         waiting_at(860, 1.6e12), waiting_at(9999, 3e12)},
        960 / clock_hz}},
      {"dram_mixed_loaded_latency",
       {{waiting(660), moving(3e12), moving(4e12), moving(3.5e12), waiting_at(9999, 1e12),
         waiting_at(860, 1.6e12), waiting_at(9999, 3e12), waiting_at(9999, 3.5e12)},
        960 / clock_hz}},
      {"dram_read_bandwidth", {{moving(3e12), moving(4e12), moving(3.5e12)}, 4e12}},
      {"dram_write_bandwidth", {{moving(4e12), moving(3e12), moving(3.5e12)}, 4e12}},
      {"dram_narrow_write_bandwidth", {{moving(3.2e12)}, 3.2e12}},
      {"dram_mixed_bandwidth", {{moving(3e12), moving(3.5e12), moving(4e12)}, 4e12}},
      {"bulk_copy_latency", {{waiting(1400)}, 700e-9}},
      {"block_starts",
       {{{.warps_per_sm = 32, .waves = 960, .sm_count = 132, .time_s = 32 * 960 * 132 / 1.6e9}}, 1.6e9}},
      {"block_turnover", {{turn(1, 14000), turn(1, 28000), turn(200, 70)}, 650}},
  };
  for (const Recipe& recipe : recipes()) {
    if (recipe.parameter == "launch") continue;
    expect_truth(recipe, made_up);
  }
}

TEST(Probes, HaveCasesForFactsOnCatalogueDevices) {
  for (const std::string& name : sample_of_catalogue()) {
    const theory::SmLimits sm = theory::find_device(name).sm;
    for (const Recipe& recipe : probe_recipes(sm)) {
      EXPECT_NO_THROW(theory::fact_of(recipe.parameter)) << recipe.parameter;
      EXPECT_FALSE(recipe.cases.empty()) << recipe.parameter;
      for (const CaseSpec& c : recipe.cases) {
        EXPECT_GT(c.block_size, 0) << name << ": " << c.id();
        EXPECT_FALSE(c.variant->predicted) << c.id();
      }
    }
  }
}

TEST(Probes, RecoverTheFactsOfASyntheticDevice) {
  const double per_scheduler = warps_per_sm / 4;
  const auto chain = [](double steps, double cycles) { return iteration_of(30 + steps * cycles); };
  const auto all_warps = [&](double steps, double cycles) {
    return iteration_of(30 + steps * cycles * per_scheduler);
  };
  /// Loops of lines of code: near, then each a line from farther away.
  const auto loops = [](std::vector<double> lines, double room, double near, double far) {
    std::vector<Reading> readings;
    for (const double n : lines) readings.push_back(iteration_of(n * (n <= room ? near : far)));
    return readings;
  };
  std::vector<Reading> sweeps;
  for (const double rate : {6.0, 6.0, 6.0, 6.0, 4.0, 3.0, 2.0, 2.0}) sweeps.push_back(moving(rate * 1e12));
  const MadeUp made_up{
      {"fma_interval", {{iteration_of(400 * per_scheduler)}, 2}},
      {"fma_latency", {{chain(8, 4), chain(32, 4)}, 4}},
      {"wide_product_interval", {{all_warps(64, 4), all_warps(256, 4)}, 4}},
      {"special_interval", {{all_warps(64, 8), all_warps(256, 8)}, 8}},
      {"special_latency", {{chain(16, 17), chain(64, 17)}, 17}},
      {"fp64_latency", {{chain(16, 18), chain(64, 18), all_warps(64, 2), all_warps(256, 2)}, 16}},
      {"mma_latency", {{chain(8, 33), chain(32, 33)}, 33}},
      {"constant_latency", {{chain(16, 24), chain(64, 24)}, 24}},
      {"warp_launch_interval", {{waiting(4)}, 4}},
      {"code_near_lines", {loops({128, 224, 240, 272, 288}, 256, 8, 19), 256}},
      {"code_near_interval", {{iteration_of(512 * 19.0)}, 19}},
      {"code_far_lines", {loops({512, 896, 960, 1088, 1152}, 1024, 19, 46), 1024}},
      {"code_far_interval", {{iteration_of(1536 * 46.0)}, 46}},
      {"register_bytes", {{iteration_of(12 * 23.0), iteration_of(12 * 32.0)}, 4}},
      {"l1_ways", {{waiting(32), waiting(32), waiting(150), waiting(270)}, 4}},
      {"l2_line_spread", {{waiting(std::sqrt(32 * 32 / 3.0 + 16))}, 32}},
      {"l2_request_share", {{moving(1.72e12), moving(1e12)}, 0.24}},
      {"l2_share", {sweeps, 0.75}},
  };
  for (const Recipe& recipe : probe_recipes(theory::find_device("h200").sm)) {
    expect_truth(recipe, made_up);
  }
}

TEST(Estimates, CombineIntervalsInQuadrature) {
  const auto all = recipes();
  // Two iterations of 100 and 400 cycles, the shorter known to 3 and the longer to 4 cycles: the sixth of
  // 300 +- 5.
  auto measured = exact({iteration_of(100), iteration_of(400)});
  measured[0].low.time_s = iteration_of(97).time_s;
  measured[0].high.time_s = iteration_of(103).time_s;
  measured[1].low.time_s = iteration_of(396).time_s;
  measured[1].high.time_s = iteration_of(404).time_s;
  const Estimate found = estimate(recipe_of(all, "barrier"), measured);
  EXPECT_NEAR(*found.value, 50, 1e-9);
  EXPECT_NEAR(*found.low, 50 - 5.0 / 6, 1e-9);
  EXPECT_NEAR(*found.high, 50 + 5.0 / 6, 1e-9);

  // A longer time is a lower bandwidth: the ends change sides.
  auto reads = exact({moving(3e12), moving(4e12), moving(2e12)});
  reads[1].high.time_s *= 1.25;
  const Estimate bandwidth = estimate(recipe_of(all, "dram_read_bandwidth"), reads);
  EXPECT_NEAR(*bandwidth.low, 3.2e12, 1e6);
  EXPECT_NEAR(*bandwidth.high, 4e12, 1e6);
}

TEST(Estimates, ReportWhyAnEstimateIsMissing) {
  const auto all = recipes();
  auto reads = exact({moving(3e12), moving(4e12), moving(2e12)});
  reads[2] = {.why_not = "some.case is skipped: no room"};
  const Estimate none = estimate(recipe_of(all, "dram_read_bandwidth"), reads);
  EXPECT_FALSE(none.value || none.low || none.high);
  EXPECT_EQ(none.method, "some.case is skipped: no room");

  const auto light = exact({waiting(660), moving(3e12), moving(4e12), moving(3e12), waiting_at(700, 0.4e12),
                            waiting_at(710, 0.8e12), waiting_at(720, 1.2e12)});
  const Estimate far = estimate(recipe_of(all, "dram_loaded_latency"), light);
  EXPECT_FALSE(far.value.has_value());
  EXPECT_EQ(far.method, "the nearest load is 30 % of the read bandwidth, not within 35 to 65");

  EXPECT_FALSE(estimate(recipe_of(all, "sm_port_bandwidth"), exact({Reading{}})).value.has_value());
}

TEST(Measurements, SubtractLaunchOverheadAndIgnoreDiscardedSamples) {
  CaseResult r;
  r.planned.iterations = 500;
  r.planned.occupancy.blocks_per_sm = 2;
  r.planned.occupancy.warps_per_sm = 8;
  r.planned.wave_blocks = 264;
  r.planned.launch.grid_size = 528;
  r.work.bytes = 1e9;
  r.time_s = {.median = 1.002e-3, .low = 1.001e-3, .high = 1.004e-3};
  r.own_cycles_per_iteration = 50;
  std::vector<SampleRow> samples(8, SampleRow{.time_s = 1e-3, .sm_clock_hz = 2e9});
  samples[3].sm_clock_hz = 1e9;
  samples[3].discarded = true;
  const Measurement m = measurement_of(r, samples, 2e-6);
  EXPECT_TRUE(m.why_not.empty());
  EXPECT_NEAR(m.median.time_s, 1e-3, 1e-12);
  EXPECT_NEAR(m.high.time_s, 1.002e-3, 1e-12);
  EXPECT_EQ(m.low.clock_hz, 2e9);
  EXPECT_EQ(m.median.own_cycles, 50);
  EXPECT_NEAR(m.high.own_cycles, 50 * 1.004 / 1.002, 1e-9);
  EXPECT_EQ(m.median.waves, 2);
  EXPECT_EQ(m.median.sm_count, 132);
  EXPECT_NEAR(m.median.cycles_per_iteration(), 4000, 1e-6);

  EXPECT_EQ(measurement_of(r, {}, 2e-6).why_not, " has no samples");
  r.planned.id = "a.case";
  r.planned.status = Status::skipped;
  r.planned.reason = "needs compute capability 9.0 or later";
  EXPECT_EQ(measurement_of(r, samples, 2e-6).why_not,
            "a.case is skipped: needs compute capability 9.0 or later");
}

TEST(ParametersJson, ContainsEveryParameterOrNull) {
  const auto all = recipes();
  std::vector<Estimate> estimates(all.size(),
                                  {.value = 1.23456789, .low = 1.2, .high = 1.3, .method = "how"});
  estimates[0] = {.value = 1.98e9, .method = "how"};
  estimates[1] = {.method = "why not"};
  Device device;
  device.name = "NVIDIA H200";
  device.uuid = "GPU-1";
  device.sm = theory::find_device("h200").sm;
  const auto json = parameters_json(device, "abc", "2026-11-21", all, estimates);
  EXPECT_EQ(json.at("format"), 1);
  EXPECT_EQ(json.at("catalogue_name"), "h200");
  EXPECT_EQ(json.at("compute_capability"), "9.0");
  EXPECT_EQ(json.at("origin"), "measured");
  EXPECT_EQ(json.at("commit"), "abc");
  EXPECT_EQ(json.at("date"), "2026-11-21");
  const auto& parameters = json.at("parameters");
  ASSERT_EQ(parameters.size(), theory::parameter_fields().size());
  for (const theory::ParameterField& field : theory::parameter_fields()) {
    const auto& entry = parameters.at(std::string(field.name));
    EXPECT_EQ(entry.at("unit"), field.unit);
    EXPECT_FALSE(entry.at("source").get<std::string>().empty()) << field.name;
  }
  EXPECT_EQ(parameters.at("sm_clock").at("value"), 1.98e9);
  EXPECT_FALSE(parameters.at("sm_clock").contains("low"));
  EXPECT_TRUE(parameters.at("tensor_clock").at("value").is_null());
  EXPECT_EQ(parameters.at("tensor_clock").at("method"), "why not");
  EXPECT_EQ(parameters.at("alu_interval").at("value"), 1.23457);

  device.name = "NVIDIA L40S";
  EXPECT_EQ(parameters_json(device, "", "", all, estimates).at("catalogue_name"), "l40s");
  device.name = "Something Else";
  EXPECT_TRUE(parameters_json(device, "", "", all, estimates).at("catalogue_name").is_null());
}

}  // namespace
}  // namespace occbench
