// SPDX-License-Identifier: Apache-2.0
#include "harness/record/environment.hpp"

#include <gtest/gtest.h>

#include <string>

#include "harness/device/device.hpp"

namespace occbench {
namespace {

TEST(Anonymous, UuidHashIsStableAndUniquePerCard) {
  Device card;
  card.uuid = "GPU-5a1a5745-0000-4000-8000-0123456789ab";
  const std::string name = anonymous_uuid(card.uuid);
  EXPECT_EQ(name, "anonymous-de57f6ba4fc2c993");  // which tools/ must say, too (test_compare.py)
  EXPECT_TRUE(is_uuid_of(name, card) && is_uuid_of(card.uuid, card));
  card.uuid.back() = 'c';
  EXPECT_NE(anonymous_uuid(card.uuid), name);
  EXPECT_FALSE(is_uuid_of(name, card));
}

TEST(Anonymous, RemovesFlagsWithPaths) {
  EXPECT_EQ(without_paths("-O3 -I/home/somebody/include  -DNDEBUG"), "-O3 -DNDEBUG");
  EXPECT_EQ(without_paths("/opt/compiler"), "");
}

TEST(Anonymous, RemovesPathsHostAndUuid) {
  const std::string uuid = "GPU-5a1a5745-0000-4000-8000-0123456789ab";
  nlohmann::json env = {
      {"host", "mine"},
      {"command_line", "occbench run --output /mine/run"},
      {"compiler", "/mine/g++ 12.2"},
      {"compiler_flags", "-O3 -I/mine/include"},
      {"source", "measured"},
      {"gpu", {{"uuid", uuid}}},
      {"parameters", {{"file", "/mine/card.json"}, {"content", {{"uuid", uuid}}}}},
  };
  make_anonymous(env);
  const std::string text = env.dump();
  EXPECT_EQ(text.find("mine"), std::string::npos) << text;
  EXPECT_EQ(text.find(uuid), std::string::npos) << text;
}

}  // namespace
}  // namespace occbench
