// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/local_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

namespace occbench::binary {
namespace {

TEST(LocalMemory, IndexedLocalLoadIsAnArrayNotASpill) {
  constexpr std::uint64_t code[] = {0x7918, 0,           // NOP
                                    0x02007983, 0x800};  // LDL R0, [R2]
  const LocalMemory found = read_local_memory(std::as_bytes(std::span(code)), 16);
  EXPECT_TRUE(found.has_array);
  EXPECT_EQ(found.spill_bytes, 0u);
  EXPECT_FALSE(read_local_memory(std::as_bytes(std::span(code).first(2)), 16).has_array);
}

}  // namespace
}  // namespace occbench::binary
