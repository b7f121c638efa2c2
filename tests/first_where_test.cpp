// SPDX-License-Identifier: Apache-2.0
#include "harness/device/first_where.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace occbench {
namespace {

/// As dear as a reference that adds up a row.
bool is_dear_and(bool answer) {
  volatile double sum = 0;
  for (int i = 0; i < 200; ++i) sum = sum + std::sqrt(static_cast<double>(i));
  return sum > 0 && answer;
}

TEST(FirstWhere, FindsEveryIndexWithManyThreads) {
  for (const std::size_t n : {1UL, 31UL, 32UL, 33UL, 1024UL, 8191UL})
    for (std::size_t place = 0; place <= n; place += place < 40 || place + 3 > n ? 1 : n / 7 + 1) {
      EXPECT_EQ(first_where(n, [&](std::size_t i) { return i >= place; }), place);
      EXPECT_EQ(first_where(n, [&](std::size_t i) { return is_dear_and(i == place); }), place);
    }
}

TEST(FirstWhere, TestsEachElementOnceIfNoneMatches) {
  std::vector<std::atomic<int>> looks(10'007);
  EXPECT_EQ(first_where(looks.size(), [&](std::size_t i) { return is_dear_and(++looks[i] == 0); }),
            looks.size());
  for (const std::atomic<int>& each : looks) EXPECT_EQ(each, 1);
}

TEST(FirstWhere, HonoursTheThreadLimit) {
  const std::thread::id here = std::this_thread::get_id();
  EXPECT_EQ(first_where(
                10'007, [&](std::size_t) { return is_dear_and(std::this_thread::get_id() != here); }, 1),
            10'007U);
}

TEST(FirstWhere, ReturnsZeroForAnEmptyRange) {
  EXPECT_EQ(first_where(0, [](std::size_t) { return true; }), 0U);
}

}  // namespace
}  // namespace occbench
