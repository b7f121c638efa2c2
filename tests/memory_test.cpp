// SPDX-License-Identifier: Apache-2.0
// What a simulated warp waits for that loads and stores.
#include "harness/theory/simulator/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "harness/theory/simulator/dram.hpp"
#include "harness/theory/simulator/lines.hpp"
#include "tests/quiet_machine.hpp"

namespace occbench::theory {
namespace {

TEST(Simulate, InstructionCacheMissesSlowLongLoops) {
  // Cycles per instruction of a scheduler, of a loop of so many on an H200: a kernel beside the suite.
  const auto cycles = [](int length, int warps) {
    return pace(chain(length, "FFMA 1 - - 00 00 00"), {.blocks = 1, .warps_per_block = warps}, {},
                quiet_machine(), 8) *
           4 / (length * std::max(4, warps));
  };
  EXPECT_NEAR(cycles(2000, 4), 1, 0.02);
  EXPECT_NEAR(cycles(4096, 4), 2.36, 0.05);
  EXPECT_NEAR(cycles(4096, 8), 1.12, 0.1) << "two warps of a scheduler wait for a line once";
  EXPECT_NEAR(cycles(12288, 4), 5.76, 0.05);
}

TEST(Simulate, LoadReturnsAfterTheLatencyOfItsLevel) {
  const Program load = loop_of("LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  const SmWorkload lone{.blocks = 1, .warps_per_block = 1};
  EXPECT_NEAR(pace(load, lone, {.load_dram = 0, .load_l2 = 0}), 32 + 4, 3);
  EXPECT_NEAR(pace(load, lone, {.load_dram = 0, .load_l2 = 1}), 270 + 4, 3);
  EXPECT_NEAR(pace(load, lone, {.load_dram = 1}), 660 + 4, 10);
}

TEST(Simulate, BandwidthGrowsWithWarpsUpToTheLimit) {
  const Program load = loop_of("LDG.128 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  double last = 0;
  for (const int blocks : {1, 2, 4, 8, 16}) {
    const double bytes_per_cycle = blocks * 4 * 512 / pace(load, {.blocks = blocks, .warps_per_block = 4});
    EXPECT_GT(bytes_per_cycle, last * 0.98);
    EXPECT_LE(bytes_per_cycle, 16 * 1.02);
    last = bytes_per_cycle;
  }
  EXPECT_GT(last, 16 * 0.9);
}

TEST(Simulate, SpillsWriteThroughAndReloadsHitL1) {
  Machine m = quiet_machine();
  m.spill_store_bytes_per_cycle = 16;
  const SmWorkload full{.blocks = 8, .warps_per_block = 8};
  const Program spill =
      parse_programs("f v 16 16 0 0 1\nSTL.32 1 - 0 00 00 00\nLDLU.32 4 1 - 01 00 00\nFADD 4 - - 02 00 00\n")
          .at({"f", "v"});
  EXPECT_NEAR(pace(spill, full, {}, m), 64 * 128 / 16.0, 15) << "as fast as stores are written through";
  EXPECT_NEAR(pace(spill, {.blocks = 1, .warps_per_block = 1}, {}, m), 32 + 10, 12) << "a reload hits";
}

TEST(Simulate, SharedStoresHaveSeparateBankConflicts) {
  const Program exchange = loop_of("4*STS.32 1 - - 00 00 00\n4*LDS.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  const Traffic traffic{.layout = {.bank_conflict = 2, .store_conflict = 8}};
  EXPECT_NEAR(pace(exchange, {.blocks = 16, .warps_per_block = 4}, traffic) / 64, 4 * 8 + 4 * 2, 1);
}

TEST(Simulate, PartialLineRequestsCostAFullDramAccess) {
  // Two lines where one would hold the bytes: half of the neighbours come first, and DRAM serves 1.5 requests
  // a line.
  const Program load = loop_of("4*LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  const SmWorkload full{.blocks = 16, .warps_per_block = 4};
  EXPECT_NEAR(pace(load, full, {.layout = {.lines = 2}}) / pace(load, full), 1.5, 0.05);
  // Where DRAM has little to do the neighbours meet in the L2.
  const SmWorkload lone{.blocks = 1, .warps_per_block = 1};
  EXPECT_NEAR(pace(load, lone, {.layout = {.lines = 2}}) / pace(load, lone), 1, 0.05);
}

TEST(Simulate, WriteWaitDoesNotReduceBandwidth) {
  Machine m = quiet_machine();
  m.write_wait = 600;
  const Program copy = loop_of("8*LDG.32 1 0 - 00 00 00\n8*STG.32 1 - - 01 00 00\n");
  EXPECT_NEAR(pace(copy, {.blocks = 16, .warps_per_block = 4}, {}, m), 64 * 16 * 128 / 16.0, 300);
}

/// Waits of 20,000 reads beside as many writes, which together take so large a share of the bandwidth.
std::vector<double> waits(double busy, bool in_order) {
  Machine m = quiet_machine();
  m.write_wait = 600;
  m.dram_service = 0;  // one channel, which no line keeps for long
  m.dram_bytes_per_cycle = 1600;
  Random random;
  Dram dram(m, random, in_order);
  std::vector<double> found;
  const double apart = 2 * 128 / m.dram_bytes_per_cycle / busy;
  for (int i = 1; i <= 20000; ++i) {
    dram.write(i * apart);
    dram.read(random(), i * apart, 1);
    found.push_back(dram.wait_for_writes(i * apart));
  }
  return found;
}

TEST(Dram, ReadWaitsAreRandomAndScaleWithWriteLoad) {
  const auto mean_of = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  for (const double busy : {0.2, 0.5, 0.8}) {
    const auto found = waits(busy, true);
    const double mean = mean_of(found);
    EXPECT_NEAR(mean, 600 * busy / 2, 0.05 * mean) << busy;
    double square = 0;
    for (const double wait : found) square += (wait - mean) * (wait - mean);
    EXPECT_NEAR(std::sqrt(square / static_cast<double>(found.size())), mean, 0.1 * mean) << "exponential";
  }
  EXPECT_NEAR(mean_of(waits(0.5, false)), mean_of(waits(0.5, true)), 8) << "measured at half load";
  EXPECT_GT(mean_of(waits(0.8, false)), 1.5 * mean_of(waits(0.8, true))) << "warps that drift apart queue";
  EXPECT_NEAR(mean_of(waits(0.2, false)), mean_of(waits(0.2, true)), 4) << "not where there is room";
  EXPECT_NEAR(mean_of(waits(3, false)), mean_of(waits(1, false)), 40) << "it is no busier than busy";
}

TEST(Dram, MatchesTheMeasuredWaitAtHalfLoad) {
  Parameters p;
  p.dram_read_bytes_per_s = 4.4e12;
  p.dram_mixed_bytes_per_s = 4.0e12;
  p.dram_latency_s = 340e-9;
  p.dram_loaded_latency_s = 360e-9;
  p.dram_mixed_loaded_latency_s = 450e-9;
  Machine m;
  set_dram(m, p, 2e9, 16);
  EXPECT_NEAR(m.dram_service / 2, 40, 1e-9) << "of reads alone: the queue's";
  EXPECT_NEAR(m.dram_service / 2 * 1.1 + m.write_wait * 0.25, 220, 1e-9) << "beside as many writes";
  p.dram_mixed_loaded_latency_s = 350e-9;
  set_dram(m, p, 2e9, 16);
  EXPECT_EQ(m.write_wait, 0) << "never less than no wait";
}

TEST(Dram, IdleDramHasNoWriteWait) {
  Machine m = quiet_machine();
  m.write_wait = 600;
  Random random;
  Dram dram(m, random);
  EXPECT_EQ(dram.write_share(0), 0);
  EXPECT_EQ(dram.wait_for_writes(0), 0);
  for (int i = 0; i < 100; ++i) {
    dram.write(0);
    dram.read(random(), 0, 1);
  }
  EXPECT_NEAR(dram.write_share(1), 0.5, 1e-9) << "asked for at once, writes are half";
}

TEST(Dram, CopiesCountAsBusyTime) {
  Machine m = quiet_machine();
  m.dram_bytes_per_cycle = 16;
  Random random;
  Dram dram(m, random);
  dram.copy(0, 1600);
  EXPECT_NEAR(dram.busy_share(400), 0.25, 1e-9);
}

TEST(Simulate, AdjacentLoadsShareTheirDramDelay) {
  Machine m = quiet_machine();
  m.dram_latency = 700;
  m.dram_spread = 150;
  m.dram_bytes_per_cycle = m.port_bytes_per_cycle = m.l2_bytes_per_cycle = 1600;  // no queue to speak of
  const auto row = [&](const std::string& rest) {
    const Program program =
        loop_of("LDG.32 1 0 - 00 00 00\n15*" + rest + " 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
    return pace(program, {.blocks = 1, .warps_per_block = 1}, {}, m, 200);
  };
  EXPECT_LT(row("LDG.32.NEXT"), row("LDG.32") - 50)
      << "the last of 16 is late by 0.44 of the spread, not by all";
}

TEST(Simulate, DistantRowsHaveIndependentDramDelays) {
  Machine m = quiet_machine();
  m.dram_latency = 700;
  m.dram_spread = 150;
  m.dram_bytes_per_cycle = m.port_bytes_per_cycle = m.l2_bytes_per_cycle = 1600;
  m.barrier_cycles = 0;
  const Program row = loop_of("LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\nBAR 1 - - 00 00 00\n");
  const SmWorkload block{.blocks = 1, .warps_per_block = 16};
  EXPECT_GT(pace(row, block, {.layout = {.apart = true}}, m), pace(row, block, {}, m) + 50);
}

TEST(Simulate, AdjacentReadsOfABlockArriveTogether) {
  // Warps that meet wait for the last of their loads: chance that they have in common costs them nothing.
  Machine m = quiet_machine();
  m.dram_latency = 700;
  m.dram_spread = 150;
  m.dram_bytes_per_cycle = m.port_bytes_per_cycle = m.l2_bytes_per_cycle = 1600;  // no queue to speak of
  m.barrier_cycles = 0;
  const Program row = loop_of("LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\nBAR 1 - - 00 00 00\n");
  const double alone = pace(row, {.blocks = 1, .warps_per_block = 1}, {}, m);
  EXPECT_NEAR(alone, 700, 30);
  // The largest of 16 would be 1.8 deviations above the mean were each by chance of its own: 270 cycles.
  EXPECT_NEAR(pace(row, {.blocks = 1, .warps_per_block = 16}, {}, m) - alone, 1.77 * 0.44 * 150, 50);
}

TEST(Simulate, StoreOccupiesTheLsuForItsL2Transfer) {
  const auto stores = [](const std::string& store) {
    return pace(loop_of("10*" + store + " 1 - - 00 00 00\n"), {.blocks = 4, .warps_per_block = 4},
                {.store_dram = 0}) /
           160;
  };
  EXPECT_NEAR(stores("STG.32"), 2, 0.05);
  EXPECT_NEAR(stores("STG.128"), 8, 0.05);
}

TEST(Simulate, StoresStallWhenTheStoreQueueIsFull) {
  const auto cycles = [](int stores) {  // and FMAs behind them, for longer than DRAM takes
    const std::string text = std::to_string(stores) + "*STG.128 1 - - 00 00 00\n2000*FFMA 4 - - 00 00 00\n";
    return simulate(loop_of(text), quiet_machine(), {}, {.blocks = 1, .warps_per_block = 1}, 1).cycles;
  };
  EXPECT_LT(cycles(80), 80 * 8 + 8000 + 20) << "40 KiB go at once";
  EXPECT_GT(cycles(160), 32 * 1024 / 16 + 8000) << "of 80, DRAM must have taken nearly half";
}

TEST(Simulate, WarpIssuesFiveMemoryInstructionsAheadOfTheLsu) {
  // Each takes it 32 cycles; what follows them is issued as the fifth last of them is done.
  const auto cycles = [](int loads) {
    const std::string text = std::to_string(loads) + "*LDS.32 1 - - 00 00 00\n";
    return simulate(loop_of(text), quiet_machine(), {.layout = {.bank_conflict = 32}},
                    {.blocks = 1, .warps_per_block = 1}, 1)
        .cycles;
  };
  EXPECT_LT(cycles(5), 20);
  EXPECT_NEAR(cycles(15) - cycles(10), 5 * 32, 2);
}

TEST(Simulate, CompletedBarrierOccupiesTheLsuForOneCycle) {
  Machine m = quiet_machine();
  m.barrier_cycles = m.arrival_cycles = m.release_cycles = 0;
  const auto trip = [&](const std::string& barrier) {  // of 16 blocks of one warp, that keep the unit busy
    return pace(loop_of("8*LDS.32 1 - - 00 00 00\n" + barrier), {.blocks = 16, .warps_per_block = 1}, {}, m) /
           16;
  };
  EXPECT_NEAR(trip(""), 8, 0.1);
  EXPECT_NEAR(trip("BAR 1 - - 00 00 00\n"), 9, 0.1);
}

/// A trip that streams so many lines, waits for them, and loads as many more as are the same for all warps
/// and trips.
Program beside_stream(int lines, int same) {
  return loop_of(std::to_string(lines) + "*LDG.32 4 0 - 00 00 00\nFADD 4 - - 01 00 00\n" +
                 std::to_string(same) + "*LDG.32.SAME 4 1 - 00 00 00\nFADD 4 - - 02 00 00\n");
}

TEST(Simulate, StreamingLoadsEvictSharedLinesFromL1) {
  // Of the loads of a set that every warp reads once a trip, how many the L1 lacked: by ncu on an H200, eight
  // warps.
  const auto fetched = [](int lines, int same, std::size_t l1_lines) {
    Machine machine = quiet_machine();
    machine.dram_latency = 690;
    machine.dram_bytes_per_cycle = 17;
    const Usage usage = simulate(beside_stream(lines, same), machine,
                                 {.load_dram = double(lines) / (lines + same),
                                  .reuse_parts = 1,
                                  .l1_lines = l1_lines,
                                  .l2_stream_bytes = 1e9},
                                 {.blocks = 2, .warps_per_block = 4}, 100);
    const double each = usage.port * machine.port_bytes_per_cycle / 128 / (100 * 8);
    return (each - lines) / same;
  };
  EXPECT_NEAR(fetched(8, 16, 168), 0.027, 0.015);
  EXPECT_NEAR(fetched(16, 32, 168), 0.073, 0.02);
  EXPECT_NEAR(fetched(32, 64, 168), 0.216, 0.03);
  EXPECT_NEAR(fetched(32, 64, 936), 0.007, 0.01);
}

TEST(Lines, MissOnALineInFlightSendsNoSecondRequest) {
  const Machine machine = quiet_machine();
  const Traffic traffic{.reuse_parts = 1, .l1_lines = 168};
  Random random;
  Lines lines(machine, traffic, {}, random);
  lines.look_up(7, 2, 0);
  ASSERT_EQ(lines.missed_count(), 2U);
  const double there = lines.request_missed(300);
  EXPECT_NEAR(there, 300, 33) << "lines of the L2 differ by as much";
  EXPECT_EQ(lines.look_up(7, 2, 100), there) << "both on their way: the later of them";
  EXPECT_EQ(lines.missed_count(), 0U);
  EXPECT_EQ(lines.look_up(7, 2, there), there + machine.l1_latency) << "a hit";
  EXPECT_EQ(lines.missed_count(), 0U);
}

TEST(Simulate, L1CapacityLimitsLinesInFlight) {
  const auto cycles_per_line = [](std::size_t l1_lines) {
    const SmWorkload workload{.blocks = 4, .warps_per_block = 4};
    return pace(beside_stream(32, 0), workload, {.l1_lines = l1_lines}) / (16 * 32);
  };
  EXPECT_NEAR(cycles_per_line(16), 660 / 16.0, 2) << "as many as there is room for, each for the latency";
  EXPECT_NEAR(cycles_per_line(512), 8, 0.3) << "the bandwidth of DRAM";
  EXPECT_NEAR(cycles_per_line(0), 8, 0.3) << "no limit is known";
}

TEST(Simulate, L2EvictsLinesUnusedForLong) {
  const auto trip = [](double l2_bytes) {
    const SmWorkload lone{.blocks = 1, .warps_per_block = 1};
    return pace(beside_stream(8, 8), lone,
                {.load_dram = 0.5, .reuse_parts = 1, .l1_lines = 4, .l2_stream_bytes = l2_bytes});
  };
  EXPECT_GT(trip(512), trip(1e9) + 300) << "DRAM's latency in place of the L2's";
  EXPECT_NEAR(trip(2048), trip(1e9), 1) << "each trip streams 1 KiB";
  EXPECT_NEAR(trip(0), trip(1e9), 1) << "of unknown size";
}

}  // namespace
}  // namespace occbench::theory
