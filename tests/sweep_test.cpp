// SPDX-License-Identifier: Apache-2.0
// The cases of every preset as planned for an H200: names, counts, refusals. No device needed.
#include "benchmarks/framework/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/io/check.hpp"
#include "harness/theory/occupancy/catalogue.hpp"
#include "tests/catalogue_sample.hpp"

namespace occbench {
namespace {

std::vector<CaseSpec> plan(Preset preset, const std::vector<std::string>& names = {}) {
  return plan_cases(names, theory::find_device("h200").sm, preset);
}

std::set<std::string> experiments_of(const std::vector<CaseSpec>& cases) {
  std::set<std::string> names;
  for (const CaseSpec& c : cases) names.insert(c.experiment);
  return names;
}

constexpr Preset presets[] = {Preset::burn_in, Preset::quick, Preset::standard, Preset::full};

TEST(Plan, IdsAreUniqueAndSafeInFileNames) {
  for (const Preset preset : presets) {
    std::set<std::string> ids;
    for (const CaseSpec& c : plan(preset)) {
      EXPECT_TRUE(ids.insert(c.id()).second) << c.id();
      EXPECT_TRUE(std::ranges::all_of(c.id(), [](unsigned char letter) {
        return std::isalnum(letter) != 0 || std::string_view("_.=+-").find(static_cast<char>(letter)) < 5;
      })) << c.id();
    }
    EXPECT_FALSE(ids.empty()) << to_string(preset);
  }
}

TEST(Plan, PresetsGrowAndStandardHas1500Cases) {
  EXPECT_GE(plan(Preset::standard).size(), 1500u);
  EXPECT_LT(plan(Preset::quick).size(), plan(Preset::standard).size());
  EXPECT_LT(plan(Preset::standard).size(), plan(Preset::full).size());
}

TEST(Plan, QuickContainsEveryExperiment) {
  EXPECT_EQ(experiments_of(plan(Preset::quick)), experiments_of(plan(Preset::full)));
  EXPECT_EQ(experiments_of(plan(Preset::full)).size(), experiments().size());
}

TEST(Plan, ExperimentsAreSortedByName) {
  EXPECT_TRUE(std::ranges::is_sorted(experiments(), {}, &Experiment::name));
  EXPECT_TRUE(std::ranges::is_sorted(plan(Preset::full), {}, &CaseSpec::experiment));
}

TEST(Plan, ContainsOnlyTheNamedExperiments) {
  EXPECT_EQ(experiments_of(plan(Preset::quick, {"registers", "block_size"})),
            (std::set<std::string>{"block_size", "registers"}));
}

TEST(Plan, RejectsAnUnknownExperimentAndListsTheKnown) {
  try {
    static_cast<void>(plan(Preset::quick, {"registers", "registres"}));
    FAIL() << "an unknown experiment was planned";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), Exit::usage);
    EXPECT_NE(std::string(e.what()).find("'registres'"), std::string::npos) << e.what();
    for (const Experiment& known : experiments())
      EXPECT_NE(std::string(e.what()).find(known.name), std::string::npos) << e.what();
  }
}

TEST(Plan, PairsEachSmemSpillCaseWithItsLocalBaseline) {
  const std::vector<CaseSpec> cases = plan(Preset::standard, {"smem_spilling"});
  int pairs = 0;
  for (const CaseSpec& to_smem : cases) {
    if (!to_smem.variant->spills_to_shared) continue;
    pairs += static_cast<int>(std::ranges::count_if(cases, [&](const CaseSpec& c) {
      return c.variant->name == to_smem.variant->baseline &&
             c.variant->dials.register_cap == to_smem.variant->dials.register_cap &&
             c.variant->launch_bounds_threads == to_smem.variant->launch_bounds_threads &&
             c.resident_blocks == to_smem.resident_blocks;
    }));
  }
  EXPECT_GT(pairs, 0);
  EXPECT_EQ(2 * pairs, static_cast<int>(cases.size()));
}

TEST(Plan, PresetNamesRoundTrip) {
  for (const Preset preset : presets) EXPECT_EQ(parse_preset(to_string(preset)), preset);
  EXPECT_THROW(static_cast<void>(parse_preset("slow")), UserError);
}

TEST(Plan, IsValidOnEveryCatalogueDevice) {
  std::vector<std::string> names = sample_of_catalogue();
  for (const std::string& cc : theory::compute_capabilities()) names.push_back("cc" + cc);
  for (const std::string& name : names)
    for (const Preset preset : presets) {
      const theory::SmLimits sm = theory::find_device(name).sm;
      for (const CaseSpec& c : plan_cases({}, sm, preset)) {  // throws when two cases share an id
        EXPECT_GE(c.resident_blocks, 0) << name << ": " << c.id();
        EXPECT_GE(c.grid_size, 0) << name << ": " << c.id();
        EXPECT_GE(c.waves, 1) << name << ": " << c.id();
        EXPECT_TRUE(c.carveout_percent >= -1 && c.carveout_percent <= 100) << name << ": " << c.id();
      }
    }
}

TEST(Plan, ExcludesCalibrationKernels) {
  for (const Preset preset : presets)
    for (const CaseSpec& c : plan(preset)) EXPECT_NE(c.variant->family, "calibration") << c.id();
}

TEST(Plan, HasVariantsAndWholeWarpBlocks) {
  for (const CaseSpec& c : plan(Preset::full)) {
    ASSERT_NE(c.variant, nullptr) << c.id();
    EXPECT_GT(c.block_size, 0) << c.id();
    EXPECT_EQ(c.block_size % 32, 0) << c.id();
  }
}

}  // namespace
}  // namespace occbench
