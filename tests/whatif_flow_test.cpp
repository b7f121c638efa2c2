// SPDX-License-Identifier: Apache-2.0
// What a kernel moves is read from the counters of a profile.
#include <gtest/gtest.h>

#include <string>

#include "harness/theory/catalogue.hpp"
#include "harness/whatif/code.hpp"
#include "harness/whatif/flow.hpp"

namespace occbench::whatif {
namespace {

constexpr double threads = 4096, sectors_of_4_bytes = threads * 4 / 32;

/// Ten turns for each thread: a load of 4 bytes, and a store of as many, all of them from and to DRAM.
Profile copies() {
  Profile p;
  p.metrics = {{"gpu__time_duration.sum", 1e-5},
               {"launch__grid_size", 32},
               {"launch__block_size", 128},
               {"launch__registers_per_thread", 16},
               {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 10 * sectors_of_4_bytes},
               {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", 0},
               {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 10 * threads / 32},
               {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 10 * threads / 32},
               {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 10 * sectors_of_4_bytes},
               {"dram__bytes_read.sum", 10 * 4 * threads},
               {"dram__bytes_write.sum", 10 * 4 * threads}};
  return p;
}

theory::Program loop(const std::string& more = "") {
  return parse_code("kernel measured 16 0 0 0 0.1\nLDG.32 1 0 - 00 00 00\n" + more +
                    "STG.32 1 - 1 01 00 00\nBRA.TAKEN 5 - - 00 00 00\n");
}

Kernel read(const Profile& p, const theory::Program& program = loop()) {
  const theory::CatalogueEntry h200 = theory::find_device("h200");
  return kernel_of(p, program, h200.sm, h200.l2_bytes);
}

std::string refusal(const Profile& p, const theory::Program& program = loop()) {
  try {
    static_cast<void>(read(p, program));
  } catch (const Refused& why) {
    return why.what();
  }
  return "none";
}

TEST(Flow, BytesArePerThreadOfTheLaunch) {
  const Kernel k = read(copies());
  EXPECT_NEAR(k.facts.dram_bytes, 80, 1e-9) << "forty read, and forty written";
  EXPECT_NEAR(k.facts.flow.l2_bytes, 0, 1e-9);
  EXPECT_EQ(k.grid_size, 32);
  EXPECT_EQ(k.footprint.block_size, 128);
  EXPECT_TRUE(k.assumed.empty());
}

TEST(Flow, WhatTheL2AnsweredIsNotReadFromDram) {
  Profile p = copies();
  p.metrics["dram__bytes_read.sum"] /= 4;
  const Kernel k = read(p);
  EXPECT_NEAR(k.facts.flow.l2_bytes, 30, 1e-9);
  EXPECT_NEAR(k.facts.dram_bytes, 10 + 40, 1e-9);
  EXPECT_NEAR(k.l2_hit, 0.75, 1e-9);
  ASSERT_EQ(k.assumed.size(), 1U);
  EXPECT_EQ(k.assumed[0], "the L2 goes on to answer 75 % of the bytes loaded");
}

TEST(Flow, WhatTheL1AnsweredGoesNoFurther) {
  Profile p = copies();
  p.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"] = 5 * sectors_of_4_bytes;
  const Kernel k = read(p);
  EXPECT_NEAR(k.facts.dram_bytes, 20 + 40, 1e-9);
  EXPECT_NEAR(k.l1_hit, 0.5, 1e-9);
}

TEST(Flow, SectorsFetchedInVainAreLines) {
  Profile p = copies();
  p.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] *= 8;  // a sector for every lane
  EXPECT_NEAR(read(p).facts.flow.layout.lines, 8, 1e-9);
}

TEST(Flow, WavefrontsOfSharedMemoryAreBankConflicts) {
  Profile p = copies();
  p.metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] = 4 * 10 * threads / 32;
  EXPECT_NEAR(read(p, loop("LDS.32 1 2 - 00 00 00\n")).facts.flow.layout.bank_conflict, 4, 1e-9);
  EXPECT_NEAR(read(p).facts.flow.layout.bank_conflict, 1, 1e-9) << "its loop has none";
}

TEST(Flow, RefusesWhatNoCounterTells) {
  EXPECT_EQ(refusal(copies()), "none");
  Profile p = copies();
  p.metrics["launch__cluster_size"] = 4;
  EXPECT_NE(refusal(p).find("clusters of 4 blocks"), std::string::npos);
  p = copies();
  p.metrics["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"] = 10 * threads / 32;
  EXPECT_EQ(refusal(p).rfind("atomics are 33 %", 0), 0U) << refusal(p);
  p = copies();
  p.metrics.erase("dram__bytes_read.sum");
  EXPECT_EQ(refusal(p).rfind("the report lacks dram__bytes_read.sum", 0), 0U) << refusal(p);
}

TEST(Flow, ReadsNcusNumbersInTheirUnits) {
  const auto profiles = read_profiles(
      "\"ID\",\"Kernel Name\",\"CC\",\"gpu__time_duration.sum\",\"sass__inst_executed_per_opcode\"\n"
      "\"\",\"\",\"\",\"us\",\"inst\"\n"
      "\"0\",\"k\",\"9.0\",\"1,250.5\",\"1,012 (FFMA: 1,000; UBLKCP: 12)\"\n");
  ASSERT_EQ(profiles.size(), 1U);
  EXPECT_NEAR(profiles[0].need("gpu__time_duration.sum"), 1250.5e-6, 1e-12);
  EXPECT_EQ(profiles[0].executed("UBLK"), 12);
  EXPECT_EQ(profiles[0].executed("FFMA"), 1000);
  EXPECT_FALSE(profiles[0].find("dram__bytes_read.sum"));
}

}  // namespace
}  // namespace occbench::whatif
