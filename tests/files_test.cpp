// SPDX-License-Identifier: Apache-2.0
#include "harness/io/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <iterator>
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
TEST(FreshFolder, ConcurrentCallersGetDistinctFolders) {
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

/// As root a rename would take /dev/null away from everyone.
TEST(ReplaceFile, NeverReplacesASpecialFile) {
  const fs::path folder = fs::temp_directory_path() / ("occbench_replace_test." + std::to_string(getpid()));
  fs::create_directories(folder);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "link");
  // Names that are not there: a failure of this test must not harm the machine.
  for (const fs::path& path : {folder / "pipe", fs::path("/dev/occbench_test"), fs::path("/dev/fd/occbench"),
                               fs::path("/proc/self/fd/occbench")})
    EXPECT_THROW(replace_file(path, "text"), UserError) << path;
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  EXPECT_FALSE(fs::exists("/dev/occbench_test"));
  replace_file(folder / "link", "text");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "link")));
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace occbench
