// SPDX-License-Identifier: Apache-2.0
// Logs of processes, whole and damaged, and lines of records.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/kernel_table.hpp"
#include "harness/attach/protocol/attachable.hpp"
#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {
namespace {

TEST(AttachCollect, DamagedFilesAreReported) {
  const auto folder = std::filesystem::temp_directory_path() / "occbench-attach-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::vector<std::string> texts = {
      "process\t99\t1\t0\t13000\tprogram\n",
      "process\t1\t1\t0\t13000\tprogram\nsignature\t0\t0\t1\n",
      "process\t1\t1\t0\t13000\tprogram\nlevel\t7\t2\t128\t4\n",
      "process\t1\t1\t0\t13000\tprogram\ndevice\t0\tGPU\tx\tnine\n",
      "process\t1\t1\t0\t13000\tprogram\nlevel\t0\t99999999999999999999\t1\t1\n",
      "\n\n",
      "",
      "cut of",
  };
  for (const std::string& text : texts) {
    std::ofstream(folder / "process-1-0.txt") << text;
    std::ofstream(folder / "process-1-0.counts") << "short";
    std::ofstream(folder / "process-1-0.launches") << std::string(40, '\x7f');
    const Collected all = collect(folder);
    EXPECT_EQ(all.processes.size(), 1U);
    EXPECT_TRUE(all.kernels.empty());
  }
  std::filesystem::remove(folder / "process-1-0.counts");
  EXPECT_FALSE(collect(folder).warnings.empty());
  std::filesystem::remove(folder / "process-1-0.txt");
  {
    std::ofstream notes(folder / not_attached_file);
    for (const char* name : {"/b", "/a", "/b", "/c", "/d", "/e"}) notes << "setuid\t" << name << '\n';
    notes << "cut of";
  }
  const std::string text =
      "6 processes were not attached to: /a (setuid), /b (setuid) x 2, /c (setuid), /d (setuid), 1 more";
  EXPECT_EQ(collect(folder).warnings, std::vector{text});
  std::filesystem::resize_file(folder / not_attached_file, max_not_attached_bytes);
  EXPECT_EQ(collect(folder).warnings, std::vector{"at least " + text});
  std::filesystem::resize_file(folder / not_attached_file, std::uintmax_t{1} << 40);
  EXPECT_EQ(collect(folder).warnings.size(), 1U);
  std::filesystem::remove_all(folder);
}

TEST(AttachRecordLines, RoundTripAndTolerateExtraFields) {
  const std::string line =
      "signature\t2\t1\t21120\t1\t1\t256\t1\t1\t0\t8\t57dcee27a9a684da\t3\tstep "
      "one\t2\t9a29ebc646c66d6c\t\t-1\t132\n";
  const SignatureRecord r{.number = 2,
                          .function = 1,
                          .grid_x = 21'120,
                          .grid_y = 1,
                          .grid_z = 1,
                          .block_x = 256,
                          .block_y = 1,
                          .block_z = 1,
                          .blocks_per_sm = 8,
                          .arguments = "57dcee27a9a684da",
                          .skip_reason = SkipReason::one_residency,
                          .range = "step\tone",
                          .graph_kernels = 2,
                          .graph = "9a29ebc646c66d6c",
                          .before_function = -1,
                          .sm_count = 132};
  EXPECT_EQ(line_of(r), line);
  Fields fields = fields_of(line.substr(0, line.size() - 1));
  EXPECT_EQ(line_of(record_of<SignatureRecord>(fields)), line);
  fields.emplace_back("of a later version");
  EXPECT_EQ(record_of<SignatureRecord>(fields).sm_count, 132);
  fields.resize(fields.size() - 2);
  EXPECT_THROW(static_cast<void>(record_of<SignatureRecord>(fields)), std::invalid_argument);
  fields.emplace_back("-2");
  EXPECT_THROW(static_cast<void>(record_of<SignatureRecord>(fields)), std::invalid_argument);
  EXPECT_EQ(line_of(NoteRecord{.text = "abcdef"}, 3), "note\tabc\n");
}

/// As processes wrote it before lines were made of records.
TEST(AttachCollect, ReadsALogWithUnknownAndTruncatedRecords) {
  const auto folder = std::filesystem::temp_directory_path() / "occbench-attach-recorded";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "process-7-0.txt")
      << "process\t11\t7\t1\t13000\tprogram \n"
         "device\t0\tFake "
         "H100\tGPU-42\t9\t0\t132\t32\t1024\t2048\t32\t65536\t65536\t49152\t232448\t233472\t1024\n"
         "function\t0\t0\t40\t16\t8\t1024\t90\tlatency_k\n"
         "signature\t0\t0\t21120\t2\t1\t256\t1\t1\t512\t6\t57dcee27a9a684da\t0\tforw\xc3rd\t0\t\t\t-1\t132\n"
         "level\t0\t2\t38016\t5\n"
         "version\t0\t3\t32\t31\t4\t8\n"
         "later\tof another kind\n"
         "timing\tactivity\t\n"
         "counters\t0\t3\t30,30,30,30,30,0\t3,6,0,0,0,0\n"
         "counters\t0\t1\t10,10,10,10,10,0\t1,2,0,0,0,0\n"
         "whole_counters\t0\t5\t50,50,50,50,50,0\t1,2,0,0,0,0\n"
         "step\t5000000000\t2000000\ttrain\n"
         "note\ta sentence\n"
         "cut of";
  {
    std::ofstream counts(folder / "process-7-0.counts", std::ios::binary);
    // Full::none, launching for 3 s; launches, captured, changed
    const std::uint64_t first[] = {0, 3'000'000'000, 30, 2, 1};
    counts.write(reinterpret_cast<const char*>(first), sizeof first);
  }
  std::filesystem::resize_file(folder / "process-7-0.counts", sizeof(Counts));
  std::ofstream(folder / "process-7-0.launches");
  const Collected all = collect(folder);
  for (const char* const end : {".txt", ".counts", ".launches"})
    std::filesystem::copy(folder / ("process-7-0" + std::string(end)),
                          folder / ("process-8-0" + std::string(end)));
  const Collected twice = collect(folder);
  std::filesystem::remove_all(folder);
  const Kernel& sum = twice.kernels.at(0);
  EXPECT_EQ(std::tuple(twice.kernels.size(), sum.launches, sum.captured, sum.changed, sum.seen_whole.samples),
            std::tuple(1U, 60U, 4U, 2U, 10U));
  EXPECT_EQ(all.warnings, std::vector<std::string>{"process-7-0: a sentence"});
  EXPECT_EQ(all.processes.at(0).command, "program ");
  EXPECT_EQ(all.processes[0].timing, "activity");
  EXPECT_EQ(all.time.launching_s, 3);
  EXPECT_EQ(all.devices.at(0).sm.smem_reserved_per_block_bytes, 1024U);
  const Kernel& k = all.kernels.at(0);
  EXPECT_EQ(
      std::tuple(k.name, k.grid[1], k.footprint.dynamic_smem_bytes, k.local_bytes, k.blocks_per_sm, k.range,
                 k.sms),
      std::tuple(std::string("latency_k"), 2U, std::size_t{512}, 8, 6, std::string("forw\\xc3rd"), 132));
  EXPECT_EQ(std::tuple(k.launches, k.captured, k.changed), std::tuple(30U, 2U, 1U));
  EXPECT_EQ(k.arms.at(2).added_smem_bytes, 38'016U);
  EXPECT_EQ(k.versions.at(3).cap, 32);
  EXPECT_EQ(k.counters().samples, 4U);
  EXPECT_NEAR(*k.counters().share(l2), 0.2, 1e-9);
  EXPECT_FALSE(k.counters().share(issue));
  EXPECT_EQ(k.seen_whole.samples, 5U);
  EXPECT_EQ(std::tuple(all.steps.at(0).range, all.steps[0].begin_s), std::tuple(std::string("train"), 5.0));
}

/// "0000000000000000" stands for arguments beyond those that are told apart.
TEST(AttachCollect, MergesVariantsOnceArgumentsOverflow) {
  KernelTable table;
  for (const char* const arguments : {"57dcee27a9a684da", "0000000000000000"}) {
    Kernel& k = table[table.find_or_add({.name = "k", .arguments = arguments}, {})];
    k.launches = k.captured = k.changed = k.timed = k.by_record = k.overlapping = k.untouched_timed = 2;
    k.untouched_us = 2;
  }
  EXPECT_EQ(table.finish(), (std::vector<std::uint32_t>{0, 0}));
  const Kernel& k = table[0];
  for (const std::uint64_t sum : {k.launches, k.captured, k.changed, k.timed, k.by_record, k.overlapping,
                                  k.untouched_timed, static_cast<std::uint64_t>(k.untouched_us)})
    EXPECT_EQ(sum, 4U);
}

}  // namespace
}  // namespace occbench::attach
