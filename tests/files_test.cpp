// SPDX-License-Identifier: Apache-2.0
#include "harness/io/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "harness/io/check.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Threads stand for programs: a lock belongs to an open file, not to a process.
TEST(FreshFolder, EachThatAsksAtOnceHasOneOfItsOwn) {
  constexpr int programs = 8;
  const fs::path root = fs::temp_directory_path() / ("occbench_files_test." + std::to_string(getpid()));
  for (int round = 0; round < 50; ++round) {
    std::optional<RunFolder> taken[programs];
    std::string said[programs];
    std::barrier at_once(programs);
    std::vector<std::jthread> threads;
    for (int i = 0; i < programs; ++i)
      threads.emplace_back([&, i] {
        at_once.arrive_and_wait();
        try {
          taken[i].emplace(RunFolder::fresh(root / "run"));
        } catch (const UserError& error) {
          said[i] = error.what();
        }
      });
    threads.clear();  // joined
    std::set<fs::path> folders;
    for (int i = 0; i < programs; ++i) {
      ASSERT_TRUE(taken[i]) << said[i];
      EXPECT_TRUE(folders.insert(taken[i]->path()).second) << taken[i]->path();
    }
  }
  fs::remove_all(root);
}

}  // namespace
}  // namespace occbench
