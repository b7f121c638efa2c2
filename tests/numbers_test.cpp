// SPDX-License-Identifier: Apache-2.0
// Numbers as users write them, in options of all commands and in the calculator's page.
#include "benchmarks/framework/numbers.hpp"

#include <gtest/gtest.h>

namespace occbench::commands {
namespace {

std::string refusal_of(const std::string& text, std::int64_t least = 0, std::int64_t most = 1 << 20) {
  try {
    return "read as " + std::to_string(parse_size(text, "--size", least, most));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(ParseSize, AcceptsBinarySuffixesAndHex) {
  for (const auto& [text, value] :
       {std::pair{"256", 256}, std::pair{" 48KiB ", 49152}, std::pair{"48k", 49152}, std::pair{"48KB", 49152},
        std::pair{"1M", 1 << 20}, std::pair{"100b", 100}, std::pair{"0xc000", 49152}})
    EXPECT_EQ(parse_size(text, "--size"), value) << text;
  EXPECT_EQ(parse_size("8G", "--size"), std::int64_t{1} << 33);
  EXPECT_EQ(parse_size("-1", "--size", -1), -1);
}

TEST(ParseSize, RejectsWithTheOptionInOneLine) {
  for (const char* text : {"", "many", "1.5", "K", "12Q", "48KiBs", "0x", "0x-1", "1e3", "+5"})
    EXPECT_EQ(refusal_of(text),
              "--size '" + std::string(text) + "' is not a whole number (write 256, 32K, 48KiB or 1M)");
  EXPECT_EQ(refusal_of("-1"), "--size '-1' is negative");
  EXPECT_EQ(refusal_of("3", 4), "--size '3' is less than 4");
  EXPECT_EQ(refusal_of("2M"), "--size '2M' is too large (at most 1048576)");
  for (const char* text : {"99999999999999999999", "9000000000G"})
    EXPECT_EQ(refusal_of(text), "--size '" + std::string(text) + "' is too large");
}

TEST(WithThousands, InsertsThousandsSeparators) {
  EXPECT_EQ(with_thousands(79872), "79,872");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(999), "999");
}

}  // namespace
}  // namespace occbench::commands
