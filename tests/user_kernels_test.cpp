// SPDX-License-Identifier: Apache-2.0
// User kernels as variants, experiments and data; nothing is launched.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <occbench/kernel_facts.hpp>
#include <thread>

#include "benchmarks/framework/exec_resume.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/framework/watchdog.hpp"
#include "benchmarks/user_kernels/user_data.hpp"
#include "harness/device/launch.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench {
namespace {

int stub = 0;  // an address that stands for a kernel's

detail::Function function(int register_cap = 0) {
  return {&stub, register_cap, [](CensusRecord*, cudaStream_t) {}};
}

/// What the last launch was asked for.
LaunchConfig last;

Launcher setup(Data& data) {
  const auto x = data.input<float>(100);
  const auto y = data.update<float>(100);
  const auto table = data.input<int>(10, [](std::size_t i) { return static_cast<int>(i * i); });
  EXPECT_EQ(table.at(3), 9);
  EXPECT_NE(x.at(0), y.at(0)) << "two inputs of other random numbers";
  static_cast<void>(data.output<int>(7));
  return [](const LaunchConfig& c) { last = c; };
}

std::vector<CaseSpec> cases(const std::string& experiment, Preset preset = Preset::standard) {
  const std::string names[] = {experiment};
  return plan_cases(names, theory::find_device("h200").sm, preset);
}

TEST(UserKernels, EachDialIsAnExperiment) {
  detail::add_kernel(function(), {.name = "three", .threads = 1000, .bytes = 800}, setup);
  detail::add_kernel(function(32), {.name = "three", .threads = 1000, .bytes = 800}, setup);
  detail::add_kernel(function(), {.name = "fixed", .waves = 2, .flop = 1, .block_sizes = {96}}, setup);
  EXPECT_EQ(registration_error(), "");
  std::vector<std::string> names;
  for (const Experiment& e : experiments()) names.push_back(e.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fixed_carveout", "fixed_warps", "three_block_size",
                                             "three_carveout", "three_registers", "three_warps"}));
  EXPECT_EQ(cases("three_block_size").size(), 10u);
  EXPECT_EQ(cases("three_registers").size(), 2u);
  EXPECT_EQ(cases("three_registers")[1].id(), "three_registers.three.plain-max32.b256");
  EXPECT_EQ(cases("three_warps").front().resident_blocks, 1);
  EXPECT_EQ(cases("three_warps").back().resident_blocks, 0) << "as many as fit";
  EXPECT_LT(cases("three_warps", Preset::quick).size(), cases("three_warps").size());
  EXPECT_EQ(cases("fixed_warps").front().block_size, 96);
}

TEST(UserKernels, LaunchUsesTheUsersConfiguration) {
  const auto found = std::ranges::find(variants(), "three", &Variant::family);
  ASSERT_NE(found, variants().end());
  EXPECT_EQ(found->ceiling, Ceiling::dram);
  EXPECT_EQ(found->grid_size(256), 4);
  Arena no_memory({.input_bytes = 1 << 20, .output_bytes = 1 << 20});
  EXPECT_EQ(found->max_iterations(no_memory, {}), 1);
  const Problem problem = found->prepare(no_memory, {});
  EXPECT_EQ(problem.work.bytes, 800);
  EXPECT_FALSE(problem.reference_covers_timed) << "nothing was expected: two launches are compared";
  problem.launch({.grid_size = 4, .block_size = 256, .dynamic_smem_bytes = 1024}, Census{}, nullptr);
  EXPECT_EQ(last.grid.x, 4u);
  EXPECT_EQ(last.block_size, 256);
  EXPECT_EQ(last.dynamic_smem_bytes, 1024u);
}

TEST(UserKernels, ReportsDataThatDoesNotFit) {
  const auto ask = [](std::size_t count) {
    return [=](Data& data) -> Launcher {
      static_cast<void>(data.output<double>(count));
      return [](const LaunchConfig&) {};
    };
  };
  const Arena no_memory({.input_bytes = 1 << 20, .output_bytes = 1 << 20});
  EXPECT_TRUE(UserData::fits(no_memory, ask(1 << 17)));
  EXPECT_FALSE(UserData::fits(no_memory, ask((1 << 17) + 1)));
  EXPECT_FALSE(UserData::fits(no_memory, ask(std::size_t{1} << 60)));
}

TEST(UserKernels, KernelsWithoutOutputCannotBeVerified) {
  Arena no_memory({.input_bytes = 1 << 20, .output_bytes = 1 << 20});
  UserData data(no_memory, "none");
  static_cast<Data&>(data).input<float>(10);
  EXPECT_THROW(data.require_results(), std::runtime_error);
  float other = 0;
  EXPECT_THROW(static_cast<Data&>(data).expect(&other, 1, 0, [](std::size_t) { return 0.0; }),
               std::runtime_error);
}

/// Each in a process of its own: the first mistake of a program stays.
TEST(UserKernelsDeathTest, WrongKernelFactsAreReportedInOneLine) {
  const auto said = [](KernelFacts facts, const std::string& line) {
    EXPECT_EXIT(
        {
          detail::add_kernel(function(), {.name = "taken", .threads = 1, .bytes = 1}, setup);
          detail::add_kernel(function(), std::move(facts), setup);
          std::fputs(registration_error().c_str(), stderr);
          std::exit(registration_error().empty() ? 0 : 1);
        },
        testing::ExitedWithCode(1), line);
  };
  said({.name = "a", .bytes = 1}, "^kernel 'a': its grid needs exactly one of .threads");
  said({.name = "a", .threads = 1, .waves = 1, .bytes = 1}, "its grid needs exactly one of");
  said({.name = "a", .threads = 1}, "its work is not set: give .bytes, .flop or .operations");
  said({.name = "a", .threads = 1, .bytes = -1}, "0 or more");
  said({.name = "a", .threads = 1, .bytes = 1, .block_sizes = {}}, ".block_sizes is empty");
  said({.name = "a", .threads = 1, .bytes = 1, .block_sizes = {2048}}, "a block of 2048 threads");
  said({.name = "a", .variant = "c d", .threads = 1, .bytes = 1}, "variant name 'c d'");
  said({.name = "a b", .threads = 1, .bytes = 1}, "its name has a character outside");
  said({.name = "", .threads = 1, .bytes = 1}, "it has no name");
  said({.name = "taken", .threads = 1, .bytes = 1}, "registered twice");
}

/// Becomes this test again, which then has no test to run.
TEST(ExecResumeDeathTest, ReplacesTheProcessOnlyIfRowsWereAdded) {
  setenv("GTEST_FILTER", "None.*", 1);
  EXPECT_EXIT(
      {
        exec_resume({"--resume", "folder"}, 5);
        _exit(7);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("OCCBENCH_ROWS_BEFORE", "5", 1);
        exec_resume({"--resume", "folder"}, 5);
        _exit(resumes_another() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
  unsetenv("GTEST_FILTER");
}

TEST(Watchdog, TimesOutACaseThatHangs) {
  std::atomic<int> expired = 0;
  std::string id;
  const auto note = [&](const Case& c) {
    id = c.id;
    ++expired;
  };
  Case c;
  {
    Watchdog watchdog(0.05, note);
    for (c.id = "short"; const int ms : {1, 2, 3}) {
      watchdog.on_case(&c);
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      watchdog.on_case(nullptr);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // no limit between cases
    EXPECT_EQ(expired, 0);
    c.id = "hung";
    watchdog.on_case(&c);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_EQ(expired, 1);
  EXPECT_EQ(id, "hung");
}

}  // namespace
}  // namespace occbench
