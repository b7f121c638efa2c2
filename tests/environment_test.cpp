// SPDX-License-Identifier: Apache-2.0
#include "harness/record/environment.hpp"

#include <gtest/gtest.h>

#include <string>

#include "harness/device/device.hpp"

namespace occbench {
namespace {

TEST(Anonymous, TheSameCardHasTheSameNameAndAnotherCardAnother) {
  Device card;
  card.uuid = "GPU-5a1a5745-0000-4000-8000-0123456789ab";
  const std::string name = anonymous_uuid(card.uuid);
  EXPECT_EQ(name, "anonymous-de57f6ba4fc2c993");  // which tools/ must say, too (test_compare.py)
  EXPECT_TRUE(is_uuid_of(name, card) && is_uuid_of(card.uuid, card));
  card.uuid.back() = 'c';
  EXPECT_NE(anonymous_uuid(card.uuid), name);
  EXPECT_FALSE(is_uuid_of(name, card));
}

TEST(Anonymous, FlagsThatNameAPathAreLeftOut) {
  EXPECT_EQ(without_paths("-O3 -I/home/somebody/include  -DNDEBUG"), "-O3 -DNDEBUG");
  EXPECT_EQ(without_paths("/opt/compiler"), "");
}

}  // namespace
}  // namespace occbench
