// SPDX-License-Identifier: Apache-2.0
// What is read of a stranger's kernel: ncu's table, its accesses out of counters, and what is outside the
// model.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "harness/whatif/ask.hpp"
#include "harness/whatif/flow.hpp"
#include "tests/quiet_machine.hpp"

namespace occbench::whatif {
namespace {

constexpr std::size_t l2_bytes = std::size_t{50} << 20;
constexpr double blocks = 1320, warps = blocks * 4, threads = warps * 32, trips = 1000;

theory::SmLimits sm() { return theory::find_device("h200").sm; }

/// A loop that a warp goes through 1000 times; an iteration is all of it.
theory::Program program(const std::string& loop) {
  return parse_code("kernel measured 32 0 0 0 0.001\n" + loop + "BRA.TAKEN.8 5 - - 00 00 00\n");
}

/// What ncu would say of a kernel that streams: 16 B a thread and trip, one load and one store.
Profile stream() {
  constexpr double requests = warps * trips, sectors = 16 * requests, bytes = 32 * sectors;
  Profile p;
  p.kernel = "stream";
  p.cc = "9.0";
  p.metrics = {{"gpu__time_duration.sum", 1e-3},
               {"launch__grid_size", blocks},
               {"launch__block_size", 128},
               {"launch__registers_per_thread", 32},
               {"smsp__inst_executed.sum", 3 * requests},
               {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", requests},
               {"l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum", requests},
               {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", sectors},
               {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", 0},
               {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", requests},
               {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", sectors},
               {"dram__bytes_read.sum", bytes},
               {"dram__bytes_write.sum", bytes - l2_bytes}};
  return p;
}

const char* const copy_loop = "LDG.128 1 0 - 00 10 00\nSTG.128 1 - 1 01 11 00\n";

Kernel read(const Profile& p, const std::string& loop = copy_loop) {
  return kernel_of(p, program(loop), sm(), l2_bytes);
}

/// The sentence with which it is refused.
std::string refusal(const Profile& p, const std::string& loop = copy_loop) {
  try {
    (void)read(p, loop);
  } catch (const UnsupportedProfile& why) {
    return why.what();
  }
  return "";
}

TEST(Flow, StreamingTrafficGoesToDram) {
  const Kernel k = read(stream());
  EXPECT_NEAR(k.facts.dram_bytes, 2 * 16 * trips, 1)
      << "per thread; what the L2 holds at the end is on its way";
  EXPECT_NEAR(k.facts.flow.l2_bytes, 0, 1e-9);
  EXPECT_EQ(k.facts.epilogue_bytes, 0);
  EXPECT_NEAR(k.facts.flow.layout.lines, 1, 1e-9);
  EXPECT_TRUE(k.assumptions.empty());
  EXPECT_EQ(k.footprint.block_size, 128);
  EXPECT_EQ(k.grid_size, 1320);
}

TEST(Flow, HitRatesMatchTheCounters) {
  Profile p = stream();
  const double sectors = p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
  p.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"] = sectors / 2;
  p.metrics["dram__bytes_read.sum"] = sectors * 32 / 8;
  const Kernel k = read(p);
  EXPECT_NEAR(k.l1_hit, 0.5, 1e-9);
  EXPECT_NEAR(k.l2_hit, 0.375, 1e-9);
  EXPECT_NEAR(k.facts.flow.l2_bytes, 0.375 * 16 * trips, 1e-6);
  ASSERT_EQ(k.assumptions.size(), 2U);
  EXPECT_EQ(k.assumptions.front(), "the L1 still serves 50 % of the bytes loaded");
}

TEST(Flow, HalfSectorStoresCountAsLoopTraffic) {
  Profile p = stream();
  p.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] *= 2;
  const Kernel k = read(p);
  EXPECT_NEAR(k.facts.dram_bytes, 2 * 16 * trips, 1);
  EXPECT_EQ(k.facts.epilogue_bytes, 0);
}

TEST(Flow, RequestsIdentifyStoresAfterTheLoop) {
  Profile p = stream();
  p.metrics["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] = warps;  // one of each warp
  p.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] = 16 * warps;
  p.metrics["dram__bytes_write.sum"] = 16 * threads;
  const Kernel k = read(p, "LDG.128 1 0 - 00 10 00\n");
  EXPECT_NEAR(k.facts.epilogue_bytes, 16, 1e-9);
  EXPECT_NEAR(k.facts.dram_bytes, 16 * trips, 1);
}

TEST(Flow, MisalignedWideLoadsTouchMoreLines) {
  Profile p = stream();
  double& wavefronts = p.metrics["l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum"];
  wavefronts = 1.98 * warps * trips;
  EXPECT_NEAR(read(p).facts.flow.layout.lines, 2, 1e-9);
  wavefronts = 1.4 * warps * trips;
  EXPECT_NEAR(read(p).facts.flow.layout.lines, 1, 1e-9) << "those are requests that went again";
}

TEST(Flow, BankConflictsAreExcessWavefronts) {
  Profile p = stream();
  p.metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] = 4 * warps * trips;
  EXPECT_NEAR(read(p, "LDS.32 1 0 - 00 10 00\n").facts.flow.layout.bank_conflict, 4, 1e-9);
}

TEST(Flow, RejectsFeaturesOutsideTheModel) {
  Profile p = stream();
  p.metrics["launch__cluster_size"] = 2;
  EXPECT_EQ(refusal(p), "it runs in clusters of 2 blocks, and distributed shared memory is not modelled");
  p = stream();
  p.metrics["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"] = 2 * warps * trips;
  EXPECT_EQ(refusal(p), "atomics are 50 % of its requests to global memory, and outside the model");
  p = stream();
  p.parts["sass__inst_executed_per_opcode"] = {{"ATOMS", warps * trips}};
  EXPECT_EQ(refusal(p), "atomics of shared memory are 33 % of its instructions, and outside the model");
  p = stream();
  p.parts["sass__inst_executed_per_opcode"] = {{"UBLKCP", warps}};
  EXPECT_EQ(refusal(p), "it makes bulk copies, and no counter has the number of copies in flight");
  p = stream();
  p.metrics["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"] = warps;
  EXPECT_EQ(refusal(p), "") << "one of each warp, behind its loop, decides nothing";
}

TEST(Flow, NamesTheMissingMetric) {
  Profile p = stream();
  p.metrics.erase("dram__bytes_read.sum");
  EXPECT_EQ(refusal(p),
            "the report lacks dram__bytes_read.sum; `occbench whatif --print-ncu-command` has it");
}

TEST(NcuProfiles, ParsesUnitsThousandsAndInstances) {
  const auto all = read_profiles(
      "==PROF== Connected\n"
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"gpu__time_duration.sum\","
      "\"sass__inst_executed_per_opcode\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"us\",\"inst\"\n"
      "\"0\",\"k\",\"(128, 1, 1)\",\"(264, 1, 1)\",\"9.0\",\"1,239.5\",\"1,203 (FMUL: 1,200; LDG: 3)\"\n");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kernel, "k");
  EXPECT_NEAR(all[0].need("gpu__time_duration.sum"), 1239.5e-6, 1e-12);
  EXPECT_EQ(all[0].count_executions("FMUL"), 1200);
  EXPECT_EQ(all[0].count_executions("ATOMS"), 0);
}

TEST(WhatIfCode, EncodesExecutedAddressesAsRuns) {
  Profile p = stream();
  p.parts["inst_executed"] = {{"0x7f0010", 8}, {"0x7f0000", 8}, {"0x7f0040", 96}};
  const auto words = machine_code_words("app", p);
  ASSERT_GE(words.size(), 2U);
  EXPECT_EQ(words[words.size() - 2], "--executed");
  EXPECT_EQ(words.back(), "8*2,0*2,96*1");
}

TEST(WhatIfCode, FallsBackToTheInstructionCount) {
  const auto words = machine_code_words("app", stream());
  EXPECT_EQ(words[words.size() - 2], "--instructions");
  EXPECT_THROW((void)parse_code("nonsense"), UnsupportedProfile);
  EXPECT_THROW((void)parse_code("kernel measured 17 0 0 0 0.001\n"), UnsupportedProfile)
      << "cut off after its header";
}

class AnchoredModel : public testing::Test {
 protected:
  Gpu gpu{.facts = theory::find_device("h200"), .parameters = parameters(), .ranges = {}};

  static theory::Parameters parameters() {
    theory::Parameters p = theory::quiet_parameters();
    p.branch_cycles = 1;
    return p;
  }

  /// A kernel of dependent FMAs alone, as long as was measured.
  [[nodiscard]] Anchored chains(double time_s) const {
    Profile p = stream();
    for (auto& [name, value] : p.metrics)
      if (name.starts_with("l1tex") || name.starts_with("dram")) value = 0;
    p.metrics["gpu__time_duration.sum"] = time_s;
    return {kernel_of(p, program("7*FFMA 4 - - 00 00 00\n"), sm(), l2_bytes), gpu};
  }
  /// How long the model takes it to be: about 10 blocks of an SM, 8 instructions a trip, one a cycle.
  [[nodiscard]] double modelled() const {
    constexpr double about = 95e-6;
    return about * (1 + chains(about).model_error());
  }
};

TEST_F(AnchoredModel, UnchangedLaunchHasRatioOne) {
  const Anchored kernel = chains(modelled() * 1.1);
  EXPECT_NEAR(kernel.model_error(), 1 / 1.1 - 1, 0.01);
  const Answer same = kernel.ask({kernel.kernel().footprint, kernel.kernel().grid_size});
  EXPECT_NEAR(same.time_ratio, 1, 1e-9) << "whatever the model is off";
  EXPECT_LE(same.low_ratio, 1);
  EXPECT_GE(same.high_ratio, 1);
}

TEST_F(AnchoredModel, SingleBlockIsLatencyBound) {
  const Anchored kernel = chains(modelled());
  theory::Footprint lone = kernel.kernel().footprint;
  lone.dynamic_smem_bytes = 200 << 10;
  const Answer answer = kernel.ask({lone, kernel.kernel().grid_size});
  EXPECT_EQ(answer.occupancy.blocks_per_sm, 1);
  // Seven times four cycles and five of the branch a trip, ten blocks one after the other.
  EXPECT_NEAR(answer.time_ratio, 10 * 33 * trips / 1e9 / modelled(), 0.1);
  EXPECT_EQ(kernel.grid_in_waves(lone), 83) << "1320 blocks are 82.5 times sixteen";
}

TEST_F(AnchoredModel, ModelErrorCarriesOverOnlyPartly) {
  theory::Footprint lone = chains(modelled()).kernel().footprint;
  lone.dynamic_smem_bytes = 200 << 10;
  const double exact = chains(modelled()).ask({lone, 1320}).time_ratio;
  const double slower = chains(modelled() * 1.1).ask({lone, 1320}).time_ratio;
  EXPECT_LT(slower, 0.97 * exact) << "what the model has too fast does not bound a lone warp";
  EXPECT_GT(slower, exact / 1.1);
}

TEST_F(AnchoredModel, RejectsAModelFarFromTheMeasurement) {
  const double time = modelled();
  EXPECT_THROW((void)chains(time * 1.3), UnsupportedProfile);
  EXPECT_THROW((void)chains(time * 0.8), UnsupportedProfile);
}

TEST_F(AnchoredModel, RejectsBlocksThatCannotLaunch) {
  const Anchored kernel = chains(modelled());
  theory::Footprint huge = kernel.kernel().footprint;
  huge.dynamic_smem_bytes = 300 << 10;
  EXPECT_THROW((void)kernel.ask({huge, 1320}), UnsupportedProfile);
}

}  // namespace
}  // namespace occbench::whatif
