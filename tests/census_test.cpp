// SPDX-License-Identifier: Apache-2.0
// Who was resident together, from the times at which blocks began and ended.
#include <gtest/gtest.h>

#include <vector>

#include "harness/measure/gpcs.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {
namespace {

TEST(Census, CountsFirstWaveBlocksPerSm) {
  const CensusRecord records[] = {
      {.begin_ns = 100, .end_ns = 900, .sm = 0, .pad = 0},
      {.begin_ns = 110, .end_ns = 800, .sm = 0, .pad = 0},
      {.begin_ns = 790, .end_ns = 1500, .sm = 0, .pad = 0},
      {.begin_ns = 801, .end_ns = 1600, .sm = 0, .pad = 0},
      {.begin_ns = 100, .end_ns = 200, .sm = 2, .pad = 0},
      {.begin_ns = 200, .end_ns = 300, .sm = 2, .pad = 0},
  };
  EXPECT_EQ(observe::first_residents(records, 3), (std::vector{3, 0, 1}));
}

TEST(Census, CountsDeviceResidencyBeforeTheFirstBlockEnds) {
  const CensusRecord records[] = {
      {.begin_ns = 0, .end_ns = 100, .sm = 0, .pad = 0},   {.begin_ns = 5, .end_ns = 200, .sm = 0, .pad = 0},
      {.begin_ns = 6, .end_ns = 210, .sm = 1, .pad = 0},   {.begin_ns = 7, .end_ns = 220, .sm = 1, .pad = 0},
      {.begin_ns = 110, .end_ns = 300, .sm = 2, .pad = 0},  // an SM that had no room for a cluster before
  };
  const auto seen = observe::residency_of(records, 4);
  EXPECT_EQ(seen.blocks_per_sm, 2);
  EXPECT_EQ(seen.blocks, 4);
  EXPECT_EQ(seen.idle_sms, 2);
}

TEST(Census, InfersGpcsFromClusterPlacement) {
  const auto on = [](std::vector<std::uint32_t> sms) {
    std::vector<CensusRecord> records;
    for (const std::uint32_t sm : sms) records.push_back({.begin_ns = 1, .end_ns = 2, .sm = sm, .pad = 0});
    return records;
  };
  std::vector<int> gpcs = {0, 1, 2, 3, 4, 5, 6};
  join_clusters(gpcs, on({0, 2, 4, 6, 1, 3}), 2);
  EXPECT_EQ(gpcs, (std::vector{0, 1, 0, 1, 4, 5, 4}));
  join_clusters(gpcs, on({6, 5, 4, ~0U, 2, 6}), 3);  // whose second cluster begins with no record
  EXPECT_EQ(gpcs, (std::vector{0, 1, 0, 1, 4, 4, 4}));
  EXPECT_EQ(sms_by_gpc(on({1, 4, 5, 6, 4, 6, 3}), gpcs), "3+2");
  EXPECT_EQ(sms_by_gpc(on({1, 7}), gpcs), "");  // an SM that no GPC is known of
  EXPECT_EQ(sms_by_gpc(on({1}), {}), "");
}

TEST(Census, IgnoresBlocksThatNeverRan) {
  const CensusRecord never{.begin_ns = ~0ULL, .end_ns = ~0ULL, .sm = ~0U, .pad = ~0U};
  const CensusRecord records[] = {never, {.begin_ns = 1, .end_ns = 2, .sm = 1, .pad = 0}, never};
  EXPECT_EQ(observe::first_residents(records, 2), (std::vector{0, 1}));
  EXPECT_EQ(observe::first_residents({}, 2), (std::vector{0, 0}));
  EXPECT_EQ(observe::residency_of(records, 2).blocks, 1);
  EXPECT_EQ(observe::residency_of({}, 2).blocks, 0);
}

}  // namespace
}  // namespace occbench
