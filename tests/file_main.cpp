// SPDX-License-Identifier: Apache-2.0
// main() of a program of several test files: `PROGRAM NAME_test.cpp [FLAG...]` runs the cases of that file,
// `PROGRAM [FLAG...]` all of them. Each file remains a CTest test of its own, and is not linked by itself.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

/// A filter of the cases that this file defines; empty if there are none.
std::string cases_of(const std::string& file) {
  const auto& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& info = *suite.GetTestInfo(j);
      if (std::string(info.file()).ends_with("/" + file))
        filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + '.' + info.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // A filter on the command line decides: a death test calls this program again with one.
  if (argc > 1 && testing::GTEST_FLAG(filter) == "*") {
    testing::GTEST_FLAG(filter) = cases_of(argv[1]);
    if (testing::GTEST_FLAG(filter).empty()) {
      std::fprintf(stderr, "%s: no case of %s\n", argv[0], argv[1]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
