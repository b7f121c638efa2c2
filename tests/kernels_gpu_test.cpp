// SPDX-License-Identifier: Apache-2.0
// Every variant of every family on this machine's device: right at several launch shapes, and found wrong
// when it is.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/device/arena.hpp"
#include "harness/device/device.hpp"
#include "harness/measure/plan.hpp"

namespace occbench {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct House {
  Device device = open_device("");
  Stream stream;
  Arena arena{stream, {.input_bytes = 2048 * mebibyte, .output_bytes = 1024 * mebibyte}};
};

class KernelsOnDevice : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!enumerate_devices().empty()) house_ = std::make_unique<House>();
  }
  static void TearDownTestSuite() { house_.reset(); }
  void SetUp() override {
    if (!house_) GTEST_SKIP() << "needs a GPU";
  }

  /// The launch shapes that this variant can take, resolved and configured.
  static std::vector<Case> shapes(const Variant& variant) {
    std::vector<CaseSpec> specs;
    if (variant.fixed_block_size != 0) {
      specs = {{.experiment = "test", .variant = &variant},
               {.experiment = "test", .variant = &variant, .resident_blocks = 1}};
    } else {
      for (const int block_size : {64, 256, 1024})
        specs.push_back({.experiment = "test", .variant = &variant, .block_size = block_size});
      specs.push_back({.experiment = "test", .variant = &variant, .block_size = 96, .resident_blocks = 2});
    }
    if (variant.in_clusters)
      for (const int cluster_size : {2, 4, 8}) {
        specs.push_back(specs.front());
        specs.back().cluster_size = cluster_size;
      }
    std::vector<Case> cases;
    for (const CaseSpec& spec : specs) {
      Case c = resolve(spec, house_->device, house_->arena, 1e-4);
      if (c.status == Status::valid)
        cases.push_back(std::move(c));
      else if (c.status == Status::skipped)
        EXPECT_TRUE(lacks_instructions(variant)) << c.id << ": " << c.reason;
      else
        EXPECT_EQ(c.status, Status::impossible) << c.id << ": " << c.reason;
    }
    return cases;
  }

  /// The variant is for another compute capability than this device's.
  static bool lacks_instructions(const Variant& variant) {
    const int cc = 10 * house_->device.sm.cc_major + house_->device.sm.cc_minor;
    return cc < variant.min_cc || (variant.only_this_cc && cc != variant.min_cc);
  }

  /// Poisons, launches `grid_size` of the blocks that the problem needs, and compares.
  static std::optional<std::string> mismatch_after(const Case& c, int grid_size) {
    const Variant& variant = *c.spec.variant;
    configure(c.launch);
    const Problem problem = variant.prepare(house_->arena, c.shape(variant.check_iterations));
    problem.poison();
    Launch launch = c.launch;
    launch.grid_size = grid_size;
    if (grid_size > 0) launch_kernel(launch, problem, Census{}, house_->stream);
    house_->stream.synchronize();
    return problem.mismatch();
  }

  static std::unique_ptr<House> house_;
};
std::unique_ptr<House> KernelsOnDevice::house_;

/// One test a family, so that a slow tool can be pointed at some of them.
class FamilyOnDevice : public KernelsOnDevice, public testing::WithParamInterface<std::string> {};

std::vector<std::string> families() {
  std::set<std::string> names;
  for (const Variant& variant : variants()) names.insert(variant.family);
  return {names.begin(), names.end()};
}
INSTANTIATE_TEST_SUITE_P(Each, FamilyOnDevice, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

TEST_P(FamilyOnDevice, MatchesTheReferenceAtEachShape) {
  for (const Variant& variant : variants()) {
    if (variant.family != GetParam()) continue;
    const auto cases = shapes(variant);
    EXPECT_TRUE(!cases.empty() || lacks_instructions(variant))
        << variant.family << "." << variant.name << " fits no shape";
    for (const Case& c : cases) EXPECT_EQ(mismatch_after(c, c.launch.grid_size), std::nullopt) << c.id;
  }
}

TEST_F(KernelsOnDevice, MismatchDetectsUnwrittenOutput) {
  for (const Variant& variant : variants())
    for (const Case& c : shapes(variant)) EXPECT_NE(mismatch_after(c, 0), std::nullopt) << c.id;
}

TEST_F(KernelsOnDevice, MismatchDetectsAMissingBlock) {
  for (const Variant& variant : variants())
    for (const Case& c : shapes(variant))  // of a cluster, all blocks or none
      EXPECT_NE(mismatch_after(c, c.launch.grid_size - c.launch.cluster_size), std::nullopt) << c.id;
}

TEST_F(KernelsOnDevice, SpillOnlyWhereDeclared) {
  for (const Variant& variant : variants()) {
    if (variant.may_spill || lacks_instructions(variant)) continue;
    EXPECT_EQ(entry_attributes(variant.entry).local_bytes, 0u) << variant.family << "." << variant.name;
  }
}

TEST_F(KernelsOnDevice, KeepWithinTheirRegisterCap) {
  for (const Variant& variant : variants()) {
    if (variant.dials.register_cap == 0 || lacks_instructions(variant)) continue;
    EXPECT_LE(entry_attributes(variant.entry).registers_per_thread, variant.dials.register_cap)
        << variant.family << "." << variant.name;
  }
}

TEST_F(KernelsOnDevice, DeclareWork) {
  for (const Variant& variant : variants())
    for (const Case& c : shapes(variant)) {
      const Work work = variant.prepare(house_->arena, c.shape(c.iterations)).work;
      EXPECT_GT(amount(work, unit_of(variant.ceiling)), 0) << c.id;
    }
}

}  // namespace
}  // namespace occbench
