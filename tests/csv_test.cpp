// SPDX-License-Identifier: Apache-2.0
#include "harness/io/csv.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace occbench {
namespace {

std::vector<csv::Row> read_all(const std::string& text) {
  std::istringstream in(text);
  std::vector<csv::Row> rows;
  while (const auto record = csv::read(in)) rows.push_back(record->fields);
  return rows;
}

TEST(Csv, QuotesOnlyWhereRequired) {
  EXPECT_EQ(csv::format({"a", "", "b c"}), "a,,b c\n");
  EXPECT_EQ(csv::format({"1,5", "say \"so\"", "two\nlines", "cr\r"}),
            "\"1,5\",\"say \"\"so\"\"\",\"two\nlines\",\"cr\r\"\n");
}

TEST(Csv, ReadsCrlfAndSkipsTheByteOrderMark) {
  EXPECT_EQ(read_all("\xEF\xBB\xBF"
                     "a,b\r\n1,2\n"),
            (std::vector<csv::Row>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read_all("\xEF\xBB\xBF\"a,b\",c\n"), (std::vector<csv::Row>{{"a,b", "c"}}));
}

TEST(Csv, ReadsQuotedFieldsWithNewlines) {
  EXPECT_EQ(read_all("\"a\r\nb\",\"c\"\"d\",\"\"\n"), (std::vector<csv::Row>{{"a\r\nb", "c\"d", ""}}));
}

TEST(Csv, KeepsEmptyFields) { EXPECT_EQ(read_all(",\n\n"), (std::vector<csv::Row>{{"", ""}, {""}})); }

TEST(Csv, ReportsAnIncompleteLastRecord) {
  for (const auto& [text, complete] :
       {std::pair("a,b\n", true), {"a,b", false}, {"a,\"b", false}, {"a,\"b\n", false}, {"a,\"b\"", false}}) {
    std::istringstream in(text);
    const auto record = csv::read(in);
    ASSERT_TRUE(record) << text;
    EXPECT_EQ(record->complete, complete) << text;
    EXPECT_FALSE(csv::read(in)) << text;
  }
}

TEST(Csv, ReturnsNoRecordOfEmptyInput) {
  std::istringstream in("");
  EXPECT_FALSE(csv::read(in));
}

TEST(Csv, RandomRowsRoundTrip) {
  std::mt19937 random(1);
  const std::string alphabet = "a,\"\r\n \xEF\xBB\xBF";
  for (int trial = 0; trial < 5000; ++trial) {
    csv::Row row(1 + random() % 4);
    for (std::string& field : row)
      for (auto length = random() % 6; length > 0; --length) field += alphabet[random() % alphabet.size()];
    std::istringstream in(csv::format(row));
    const auto record = csv::read(in);
    ASSERT_TRUE(record);
    EXPECT_TRUE(record->complete);
    EXPECT_EQ(record->fields, row);
    EXPECT_FALSE(csv::read(in));
  }
}

}  // namespace
}  // namespace occbench
