// SPDX-License-Identifier: Apache-2.0
// Which GPU is a task's own: what each launcher says, in which order, and what is said where there is none.
#include "benchmarks/commands/run/task.hpp"

#include <gtest/gtest.h>

#include <map>

#include "harness/io/check.hpp"

namespace occbench::commands {
namespace {

using Environment = std::map<std::string, std::string>;

Variables in(const Environment& environment) {
  return [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
}

std::string said(const std::function<void()>& call, Exit code) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "nothing";
}

TEST(Task, InnermostLauncherSetsTheRank) {
  Environment all{{"JOB_COMPLETION_INDEX", "7"}};
  EXPECT_EQ(task_of(in(all))->local_rank, 0) << "a pod has its own GPUs";
  int rank = 1;
  for (const char* name : {"SLURM_LOCALID", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK"}) {
    all[name] = std::to_string(rank);
    const auto task = task_of(in(all));
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(task->local_rank, rank++);
    EXPECT_EQ(task->variable, name);
  }
  EXPECT_FALSE(task_of(in({})).has_value());
}

TEST(Task, RejectsInvalidRanks) {
  for (const char* value : {"", "x", "-1", "1x", "99999999999"}) {
    const Environment wrong{{"SLURM_LOCALID", value}};
    const std::string words = said([&] { static_cast<void>(task_of(in(wrong))); }, Exit::usage);
    EXPECT_NE(words.find("SLURM_LOCALID"), std::string::npos) << words;
  }
}

TEST(Task, UsesTheGpuOfItsRankOrTheBoundOne) {
  const Environment none;
  EXPECT_EQ(gpu_of_task({2, "LOCAL_RANK"}, 4, in(none)), 2);
  const Environment bound{{"CUDA_VISIBLE_DEVICES", "GPU-1234"}};
  EXPECT_EQ(gpu_of_task({2, "SLURM_LOCALID"}, 1, in(bound)), 0);
  const Environment several{{"CUDA_VISIBLE_DEVICES", "2,3"}};
  EXPECT_EQ(gpu_of_task({1, "SLURM_LOCALID"}, 2, in(several)), 1);
}

TEST(Task, RejectsMoreRanksThanGpus) {
  const Environment node{{"SLURMD_NODENAME", "n7"}};
  const std::string words = said(
      [&] {
        static_cast<void>(gpu_of_task({4, "SLURM_LOCALID"}, 4, in(node)));
      },
      Exit::no_device);
  EXPECT_EQ(words,
            "no GPU for local rank 4 (SLURM_LOCALID) on n7, which has 4; start at most as many tasks a node");
}

TEST(Task, NodeNameComesFromTheLauncher) {
  EXPECT_EQ(node_name(in({{"SLURMD_NODENAME", "n1"}, {"NODE_NAME", "k1"}})), "n1");
  EXPECT_EQ(node_name(in({{"NODE_NAME", "k1"}})), "k1");
  EXPECT_EQ(node_name(in({{"NODE_NAME", "../up"}})), "..-up");
  EXPECT_EQ(node_name(in({{"NODE_NAME", ".."}})), "unknown");
  EXPECT_FALSE(node_name(in({})).empty());
}

}  // namespace
}  // namespace occbench::commands
