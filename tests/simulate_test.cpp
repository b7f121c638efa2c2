// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/simulate.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/quiet_machine.hpp"

namespace occbench::theory {
namespace {

TEST(Simulate, DependentChainTakesItsStallCycles) {
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 1}), 400, 1);
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 16}), 400, 5) << "4 warps fill a scheduler";
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 32}), 800, 10);
}

TEST(Simulate, PrefersWarpsOfTheOldestBlock) {
  // Four of five warps fill a scheduler; the fifth runs alone, four times as long a share: 8 instead of 5.
  const double four = pace(chain(100), {.blocks = 4, .warps_per_block = 4});
  const double five = pace(chain(100), {.blocks = 5, .warps_per_block = 4});
  EXPECT_NEAR(five / four, 2, 0.05);
  // In one block they take turns, and nobody is left behind.
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 20}) / four, 1.25, 0.05);
}

TEST(Simulate, WideImadAndPopcHaveLowerThroughput) {
  const auto cycles = [](const std::string& instruction) {
    const Program program = loop_of("16*" + instruction + "\n");
    return pace(program, {.blocks = 1, .warps_per_block = 32}) / 128;  // an instruction of a scheduler
  };
  EXPECT_NEAR(cycles("IMAD 1 - - 00 00 00"), 2, 0.1);
  EXPECT_NEAR(cycles("IMAD.WIDE 1 - - 00 00 00"), 4, 0.1);
  EXPECT_NEAR(cycles("POPC 1 0 - 00 00 00"), 8, 0.1);
  EXPECT_NEAR(cycles("LOP3 1 - - 00 00 00"), 2, 0.1);
}

TEST(Simulate, RegisterBankConflictsSerializeReads) {
  const SmWorkload full{.blocks = 4, .warps_per_block = 16};
  const double free = pace(chain(100, "FFMA 4 - - 00 11 11"), full);
  EXPECT_NEAR(pace(chain(100, "FFMA 4 - - 00 12 12"), full) / free, 2, 0.05);
  EXPECT_NEAR(pace(chain(100, "FFMA 4 - - 00 30 30"), full) / free, 3, 0.05);
  const Program both = loop_of("12*FFMA 4 - - 00 12 12\nFFMA 4 - - 00 21 21\n");
  EXPECT_GT(both.loop.size(), 12U);
}

TEST(Simulate, BankConflictPausesStallCounts) {
  // Two of three registers in one bank: four warps share it evenly, though two would fill it; a fifth gets
  // nothing.
  const auto warps = [](int blocks) {
    return pace(chain(400, "FFMA 4 - - 00 12 12"), {.blocks = blocks, .warps_per_block = 4});
  };
  EXPECT_NEAR(warps(3), 3 * 800, 30);
  EXPECT_NEAR(warps(4), 4 * 800, 40);
  EXPECT_NEAR(warps(5), 4 * 800 + 1600, 60);
}

TEST(Simulate, NopDoesNotChangeTheWarpOrder) {
  // Two warps' pairs fill the tensor cores, and the third must not get a trip by the NOP that ends its own.
  const Program pairs = loop_of("20*IADD3 2 - - 00 10 10\n" + [] {
    std::string all;
    for (int i = 0; i < 32; ++i) all += "HMMA 6 - - 00 00 00\nHMMA 15 - - 00 00 00\nNOP 3 - - 00 00 00\n";
    return all;
  }());
  Machine machine = quiet_machine();
  machine.mma_cycles = 6;
  const auto blocks = [&](int n) { return pace(pairs, {.blocks = n, .warps_per_block = 4}, {}, machine); };
  EXPECT_GT(blocks(3), 1.8 * blocks(2));
}

TEST(Simulate, BankConflictAddsTwoCyclesOfLatencyPerWay) {
  const Program chase = loop_of("16*LDS.32 4 0 - 01 00 00\n");
  const Program wide = loop_of("16*LDS.128 4 0 - 01 00 00\n");
  const SmWorkload four{.blocks = 1, .warps_per_block = 4};
  for (const double ways : {1.0, 2.0, 4.0, 8.0})
    EXPECT_NEAR(pace(chase, four, {.layout = {.bank_conflict = ways}}) / 16, 23 + 2 * (ways - 1), 1) << ways;
  EXPECT_NEAR(pace(wide, four) / 16, 23 + 2 * 3 + 3, 1) << "four iterations, and four registers to write";
  // However long each access takes, 16 warps of a scheduler wait for it evenly; at one a cycle the last ones
  // starve.
  EXPECT_NEAR(pace(wide, {.blocks = 16, .warps_per_block = 4}) / 16, 4 * 64, 8);
  EXPECT_GT(pace(chase, {.blocks = 16, .warps_per_block = 4}) / 16, 1.1 * 64);
}

TEST(Simulate, BarrierWaitsForTheSlowestWarp) {
  const Program meeting = loop_of("10*FFMA 4 - - 00 00 00\nBAR 6 - - 00 00 00\n");
  EXPECT_NEAR(pace(meeting, {.blocks = 1, .warps_per_block = 4}), 40 + 20, 6);
}

TEST(Simulate, RegisterBarrierOccupiesItsUnitLonger) {
  Machine m = quiet_machine();
  m.barrier_cycles = 0;
  m.arrival_cycles = 2;
  m.release_cycles = 1;
  m.register_release_cycles = 3;
  const SmWorkload crowd{.blocks = 32, .warps_per_block = 1};
  const auto meeting = [&](const std::string& barrier) { return loop_of(barrier + " 6 - - 00 00 00\n"); };
  EXPECT_NEAR(pace(meeting("BAR"), crowd, {}, m), 32 * (2 + 1), 2);
  EXPECT_NEAR(pace(meeting("BAR.REGISTER"), crowd, {}, m), 32 * (2 + 1 + 3), 2);
  m.barrier_cycles = 20;  // and a warp alone waits until its scheduler has read the register
  const SmWorkload lone{.blocks = 1, .warps_per_block = 1};
  EXPECT_NEAR(pace(meeting("BAR.REGISTER"), lone, {}, m) - pace(meeting("BAR"), lone, {}, m), 4, 0.5);
}

TEST(Simulate, ShufflesIssueOncePerCycle) {
  const Program shuffle = loop_of("20*SHFL 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  EXPECT_NEAR(pace(shuffle, {.blocks = 8, .warps_per_block = 8}), 20 * 64, 30) << "one a cycle";
}

TEST(Simulate, SuccessiveBlocksPayTheTurnover) {
  Machine m = quiet_machine();
  m.turnover_cycles = 500;
  const Program loop = chain(100);
  const double one = simulate(loop, m, {}, {.blocks = 1, .warps_per_block = 4, .total_blocks = 1}, 10).cycles;
  const double three =
      simulate(loop, m, {}, {.blocks = 1, .warps_per_block = 4, .total_blocks = 3}, 10).cycles;
  EXPECT_NEAR(three, 3 * one + 2 * 500, 60);
}

TEST(Simulate, ExtendedSimulationMatchesAFreshOne) {
  const auto loop = [](const std::string& lines) { return loop_of(lines); };
  const Program programs[] = {
      loop("LDG.128 1 0 - 00 00 00\n8*FFMA 4 - - 01 20 20\nSTG.128 1 - 1 00 00 00\nBAR 5 - - 02 00 00\n"),
      loop("LDG.32.SAME 1 0 - 00 00 00\nFADD 4 - - 01 00 00\nSTL.32 2 - - 00 00 00\nMUFU 1 2 - 00 00 00\n"),
      chain(2100),  // longer than the instruction cache
  };
  Traffic traffic{.load_dram = 0.5, .load_l2 = 0.25, .local_l2 = 0.5, .l1_lines = 64};
  Machine m = quiet_machine();
  m.alu_cycles = m.bank_cycles = 1.5;
  for (const int same_parts : {0, 2})
    for (const Program& program : programs)
      for (const int total_blocks : {0, 5}) {
        traffic.reuse_parts = same_parts;
        const SmWorkload workload{.blocks = 2, .warps_per_block = 4, .total_blocks = total_blocks};
        const auto longer = simulation(program, m, traffic, workload);
        for (const std::int64_t trips : {1, 2, 4, 3, 3, 9}) {
          const Usage expected = simulate(program, m, traffic, workload, trips);
          const Usage found = longer(trips);
          EXPECT_EQ(found.cycles, expected.cycles) << trips << " trips of " << program.loop.size();
          EXPECT_EQ(found.issued, expected.issued);
          EXPECT_EQ(found.banks, expected.banks);
          EXPECT_EQ(found.dram, expected.dram);
        }
      }
}

TEST(Simulate, DispatchRateLimitsBlockStarts) {
  Machine m = quiet_machine();
  m.start_cycles = 150;
  const Program loop = chain(5);
  const SmWorkload workload{.blocks = 32, .warps_per_block = 1, .total_blocks = 960};
  EXPECT_NEAR(simulate(loop, m, {}, workload, 1).cycles, 959 * 150, 200)
      << "32 places wait for one distributor";
  m.start_cycles = 0.5;  // a warp's own start takes longer
  EXPECT_LT(simulate(loop, m, {}, workload, 1).cycles, 959 * 150 / 4.0);
}

TEST(Simulate, SpareDispatchRateDoesNotDelayBlockStarts) {
  Machine m = quiet_machine();
  m.dram_spread = 150;
  const Program load = loop_of("LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  const auto cycles = [&](double start_cycles) {
    m.start_cycles = start_cycles;
    return simulate(load, m, {}, {.blocks = 4, .warps_per_block = 1, .total_blocks = 4000}, 1).cycles / 4000;
  };
  const double free = cycles(0);
  EXPECT_LT(cycles(0.8 * free), 1.03 * free) << "the distributor has room for more";
  EXPECT_NEAR(cycles(1.5 * free), 1.5 * free, 0.01 * free) << "and no more than it has";
}

TEST(Simulate, IsDeterministic) {
  const Program load = loop_of("LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  const SmWorkload workload{.blocks = 8, .warps_per_block = 4};
  EXPECT_EQ(simulate(load, quiet_machine(), {}, workload, 50).cycles,
            simulate(load, quiet_machine(), {}, workload, 50).cycles);
}

TEST(Simulate, TwoWarpsKeepContendingForARegisterBank) {
  // Alone a warp of three-operand FMAs never waits for a bank, two of a scheduler follow each other a cycle
  // apart, and so they stay: the second waits each time, and holds the first up.
  const Program three = chain(400, "FFMA 4 - - 00 12 12");
  EXPECT_NEAR(pace(three, {.blocks = 1, .warps_per_block = 4}) / 400, 4, 0.02);
  EXPECT_NEAR(pace(three, {.blocks = 1, .warps_per_block = 8}) / 400, 5, 0.05);
}

}  // namespace
}  // namespace occbench::theory
