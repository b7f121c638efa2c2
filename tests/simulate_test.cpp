// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulate.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "harness/theory/lines.hpp"
#include "harness/theory/model.hpp"

namespace occbench::theory {
namespace {

/// A loop of FMAs that depend on each other, as nvcc schedules them, and no end of the loop to speak of.
Program chain(int length, const std::string& fields = "FFMA 4 - - 00 00 00") {
  auto programs = parse_programs("f v 16 0 0 0 1\n" + std::to_string(length) + "*" + fields + "\n");
  return programs.at({"f", "v"});
}

Machine quiet_machine() {
  Machine m;
  m.shared_latency = 23;
  m.l1_latency = 32;
  m.l2_latency = 270;
  m.l2_bytes = m.spill_store_bytes = m.port_bytes = 64;
  m.dram_latency = 660;
  m.dram_bytes = 16;
  m.dram_service = 100;
  m.barrier_cycles = 20;
  return m;
}

/// At 1 GHz a byte per second is a byte per 10^9 cycles; what moves at which rate each test says.
Parameters quiet_parameters() {
  Parameters p;
  p.sm_clock_hz = 1e9;
  p.alu_interval_cycles = 2;
  p.operand_interval_cycles = 1.5;
  p.l1_latency_cycles = 32;
  p.l1_bytes_per_cycle = 128;
  p.l2_latency_cycles = 270;
  p.sm_port_bytes_per_cycle = 64;
  p.dram_latency_s = 500e-9;
  return p;
}

/// Cycles per turn, without what starting and ending costs.
double pace(const Program& program, const Crew& crew, const Traffic& traffic = {},
            const Machine& machine = quiet_machine(), std::int64_t turns = 40) {
  return (simulate(program, machine, traffic, crew, 2 * turns).cycles -
          simulate(program, machine, traffic, crew, turns).cycles) /
         static_cast<double>(turns);
}

TEST(Simulate, ADependentChainTakesItsStalls) {
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 1}), 400, 1);
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 16}), 400, 5) << "4 warps fill a scheduler";
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 32}), 800, 10);
}

TEST(Simulate, TheOldestBlockGoesFirst) {
  // Four of five warps fill a scheduler; the fifth runs alone, four times as long a share: 8 instead of 5.
  const double four = pace(chain(100), {.blocks = 4, .warps_per_block = 4});
  const double five = pace(chain(100), {.blocks = 5, .warps_per_block = 4});
  EXPECT_NEAR(five / four, 2, 0.05);
  // In one block they take turns, and nobody is left behind.
  EXPECT_NEAR(pace(chain(100), {.blocks = 1, .warps_per_block = 20}) / four, 1.25, 0.05);
}

TEST(Simulate, WideProductsAndCountsOfBitsHaveTheirOwnPace) {
  const auto cycles = [](const std::string& instruction) {
    const Program program = parse_programs("f v 16 0 0 0 1\n16*" + instruction + "\n").at({"f", "v"});
    return pace(program, {.blocks = 1, .warps_per_block = 32}) / 128;  // an instruction of a scheduler
  };
  EXPECT_NEAR(cycles("IMAD 1 - - 00 00 00"), 2, 0.1);
  EXPECT_NEAR(cycles("IMAD.WIDE 1 - - 00 00 00"), 4, 0.1);
  EXPECT_NEAR(cycles("POPC 1 0 - 00 00 00"), 8, 0.1);
  EXPECT_NEAR(cycles("LOP3 1 - - 00 00 00"), 2, 0.1);
}

TEST(Simulate, CodeThatOverflowsItsCacheComesLineByLine) {
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

TEST(Programs, KnowTheLinesOfTheirCode) {
  const auto lines = [](const std::string& text) {
    return parse_programs("f v 16 0 0 0 1\n" + text).at({"f", "v"}).code_lines();
  };
  EXPECT_EQ(lines("100*FFMA 4 - - 00 00 00\n"), 13U);
  EXPECT_EQ(lines("31*FFMA 4 - - 00 00 00\nBRA.TAKEN.31 5 - - 00 00 00\n31*FFMA 4 - - 00 00 00\n"
                  "BRA.TAKEN 5 - - 00 00 00\n8*FFMA 4 - - 00 00 00\n"),
            5U)
      << "two turns of a loop, and a line behind it";
}

TEST(Simulate, RegistersOfOneBankTakeTurns) {
  const Crew full{.blocks = 4, .warps_per_block = 16};
  const double free = pace(chain(100, "FFMA 4 - - 00 11 11"), full);
  EXPECT_NEAR(pace(chain(100, "FFMA 4 - - 00 12 12"), full) / free, 2, 0.05);
  EXPECT_NEAR(pace(chain(100, "FFMA 4 - - 00 30 30"), full) / free, 3, 0.05);
  const Program both =
      parse_programs("f v 16 0 0 0 1\n12*FFMA 4 - - 00 12 12\nFFMA 4 - - 00 21 21\n").at({"f", "v"});
  EXPECT_GT(both.loop.size(), 12U);
}

TEST(Simulate, AWaitForABankStopsAllStallCounts) {
  // Two of three registers in one bank: four warps share it evenly, though two would fill it; a fifth gets
  // nothing.
  const auto warps = [](int blocks) {
    return pace(chain(400, "FFMA 4 - - 00 12 12"), {.blocks = blocks, .warps_per_block = 4});
  };
  EXPECT_NEAR(warps(3), 3 * 800, 30);
  EXPECT_NEAR(warps(4), 4 * 800, 40);
  EXPECT_NEAR(warps(5), 4 * 800 + 1600, 60);
}

TEST(Simulate, ANopMakesNoWarpTheLast) {
  // Two warps' pairs fill the tensor cores, and the third must not get a turn by the NOP that ends its own.
  const Program pairs =
      parse_programs("f v 16 0 0 0 1\n20*IADD3 2 - - 00 10 10\n" +
                     [] {
                       std::string all;
                       for (int i = 0; i < 32; ++i)
                         all += "HMMA 6 - - 00 00 00\nHMMA 15 - - 00 00 00\nNOP 3 - - 00 00 00\n";
                       return all;
                     }())
          .at({"f", "v"});
  Machine machine = quiet_machine();
  machine.mma_cycles = 6;
  const auto blocks = [&](int n) { return pace(pairs, {.blocks = n, .warps_per_block = 4}, {}, machine); };
  EXPECT_GT(blocks(3), 1.8 * blocks(2));
}

TEST(Simulate, AConflictDelaysItsOwnWarpTwice) {
  const Program chase = parse_programs("f v 16 0 0 0 1\n16*LDS.32 4 0 - 01 00 00\n").at({"f", "v"});
  const Program wide = parse_programs("f v 16 0 0 0 1\n16*LDS.128 4 0 - 01 00 00\n").at({"f", "v"});
  const Crew four{.blocks = 1, .warps_per_block = 4};
  for (const double ways : {1.0, 2.0, 4.0, 8.0})
    EXPECT_NEAR(pace(chase, four, {.layout = {.bank_conflict = ways}}) / 16, 23 + 2 * (ways - 1), 1) << ways;
  EXPECT_NEAR(pace(wide, four) / 16, 23 + 2 * 3 + 3, 1) << "four passes, and four registers to write";
  // However long each access takes, 16 warps of a scheduler wait for it evenly; at one a cycle the last ones
  // starve.
  EXPECT_NEAR(pace(wide, {.blocks = 16, .warps_per_block = 4}) / 16, 4 * 64, 8);
  EXPECT_GT(pace(chase, {.blocks = 16, .warps_per_block = 4}) / 16, 1.1 * 64);
}

TEST(Simulate, ALoadComesWhenItsLatencyIsOver) {
  const Program load =
      parse_programs("f v 16 0 0 0 1\nLDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  const Crew lone{.blocks = 1, .warps_per_block = 1};
  EXPECT_NEAR(pace(load, lone, {.load_dram = 0, .load_l2 = 0}), 32 + 4, 3);
  EXPECT_NEAR(pace(load, lone, {.load_dram = 0, .load_l2 = 1}), 270 + 4, 3);
  EXPECT_NEAR(pace(load, lone, {.load_dram = 1}), 660 + 4, 10);
}

TEST(Simulate, WarpsBuyBandwidthUntilThereIsNoMore) {
  const Program load =
      parse_programs("f v 16 0 0 0 1\nLDG.128 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  double last = 0;
  for (const int blocks : {1, 2, 4, 8, 16}) {
    const double bytes_per_cycle = blocks * 4 * 512 / pace(load, {.blocks = blocks, .warps_per_block = 4});
    EXPECT_GT(bytes_per_cycle, last * 0.98);
    EXPECT_LE(bytes_per_cycle, 16 * 1.02);
    last = bytes_per_cycle;
  }
  EXPECT_GT(last, 16 * 0.9);
}

TEST(Simulate, ABarrierMakesTheFastWait) {
  const Program meeting =
      parse_programs("f v 16 0 0 0 1\n10*FFMA 4 - - 00 00 00\nBAR 6 - - 00 00 00\n").at({"f", "v"});
  EXPECT_NEAR(pace(meeting, {.blocks = 1, .warps_per_block = 4}), 40 + 20, 6);
}

TEST(Simulate, ABarrierWithARegisterKeepsItsUnitLonger) {
  Machine m = quiet_machine();
  m.barrier_cycles = 0;
  m.arrival_cycles = 2;
  m.release_cycles = 1;
  m.register_release_cycles = 3;
  const Crew crowd{.blocks = 32, .warps_per_block = 1};
  const auto meeting = [&](const std::string& barrier) {
    return parse_programs("f v 16 0 0 0 1\n" + barrier + " 6 - - 00 00 00\n").at({"f", "v"});
  };
  EXPECT_NEAR(pace(meeting("BAR"), crowd, {}, m), 32 * (2 + 1), 2);
  EXPECT_NEAR(pace(meeting("BAR.REGISTER"), crowd, {}, m), 32 * (2 + 1 + 3), 2);
  m.barrier_cycles = 20;  // and a warp alone waits until its scheduler has read the register
  const Crew lone{.blocks = 1, .warps_per_block = 1};
  EXPECT_NEAR(pace(meeting("BAR.REGISTER"), lone, {}, m) - pace(meeting("BAR"), lone, {}, m), 4, 0.5);
}

TEST(Simulate, SpilledRegistersGoThroughTheL1) {
  Machine m = quiet_machine();
  m.spill_store_bytes = 16;
  const Crew full{.blocks = 8, .warps_per_block = 8};
  const Program spill =
      parse_programs("f v 16 16 0 0 1\nSTL.32 1 - 0 00 00 00\nLDLU.32 4 1 - 01 00 00\nFADD 4 - - 02 00 00\n")
          .at({"f", "v"});
  EXPECT_NEAR(pace(spill, full, {}, m), 64 * 128 / 16.0, 15) << "as fast as stores are written through";
  EXPECT_NEAR(pace(spill, {.blocks = 1, .warps_per_block = 1}, {}, m), 32 + 10, 12) << "a reload hits";
}

TEST(Model, WhatStreamsThroughTheL1PushesSpilledRegistersOut) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.spill_store_bytes_per_s = 6400e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 6400e9;
  const auto cycles =
      [&](std::size_t lines) {  // of a turn of a lone warp that spills 128 lines and streams 80
        const Shape shape{.grid_size = 100,
                          .warps_per_block = 1,
                          .blocks_per_sm = 1,
                          .passes = 400,
                          .l1_bytes = lines * 128};
        const std::string text =
            "f v 16 512 0 0 1\n128*STL.32 2 - - 00 00 00\n80*LDG.32 2 0 - 00 00 00\nFADD 4 - - 01 00 00\n"
            "128*LDL.32 2 1 - 00 00 00\nFADD 4 - - 02 00 00\n";
        return predict(parse_programs(text).at({"f", "v"}), {.dram_bytes = 320}, shape,
                       {.sm_count = 100, .l2_bytes = 1 << 26}, p)
                   .time_s *
               p.sm_clock_hz / 400;
      };
  EXPECT_NEAR(cycles(168), cycles(1000), 5) << "half of the 80 come between a store and its reload";
  EXPECT_GT(cycles(130), cycles(1000) + 150) << "all spilled lines would fit, but not beside these";
}

TEST(Simulate, AShuffleTakesTheSharedMemorysTime) {
  const Program shuffle =
      parse_programs("f v 16 0 0 0 1\n20*SHFL 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  EXPECT_NEAR(pace(shuffle, {.blocks = 8, .warps_per_block = 8}), 20 * 64, 30) << "one a cycle";
}

TEST(Simulate, BlocksFollowEachOther) {
  Machine m = quiet_machine();
  m.turnover_cycles = 500;
  const Program loop = chain(100);
  const double one = simulate(loop, m, {}, {.blocks = 1, .warps_per_block = 4, .total_blocks = 1}, 10).cycles;
  const double three =
      simulate(loop, m, {}, {.blocks = 1, .warps_per_block = 4, .total_blocks = 3}, 10).cycles;
  EXPECT_NEAR(three, 3 * one + 2 * 500, 60);
}

TEST(Simulate, IsDeterministic) {
  const Program load =
      parse_programs("f v 16 0 0 0 1\nLDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  const Crew crew{.blocks = 8, .warps_per_block = 4};
  EXPECT_EQ(simulate(load, quiet_machine(), {}, crew, 50).cycles,
            simulate(load, quiet_machine(), {}, crew, 50).cycles);
}

TEST(Simulate, TwoWarpsContendForABankAsTheyBegan) {
  // Alone a warp of three-operand FMAs never waits for a bank, two of a scheduler follow each other a cycle
  // apart, and so they stay: the second waits each time, and holds the first up.
  const Program three = chain(400, "FFMA 4 - - 00 12 12");
  EXPECT_NEAR(pace(three, {.blocks = 1, .warps_per_block = 4}) / 400, 4, 0.02);
  EXPECT_NEAR(pace(three, {.blocks = 1, .warps_per_block = 8}) / 400, 5, 0.05);
}

TEST(Simulate, StoresToSharedMemoryHaveConflictsOfTheirOwn) {
  const Program exchange =
      parse_programs(
          "f v 16 0 0 0 1\n4*STS.32 1 - - 00 00 00\n4*LDS.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n")
          .at({"f", "v"});
  const Traffic traffic{.layout = {.bank_conflict = 2, .store_conflict = 8}};
  EXPECT_NEAR(pace(exchange, {.blocks = 16, .warps_per_block = 4}, traffic) / 64, 4 * 8 + 4 * 2, 1);
}

TEST(Simulate, ARequestCostsDramALinesTimeWhateverItBrings) {
  // Two lines where one would hold the bytes: half of the neighbours come first, and DRAM serves 1.5 requests
  // a line.
  const Program load =
      parse_programs("f v 16 0 0 0 1\n4*LDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  const Crew full{.blocks = 16, .warps_per_block = 4};
  EXPECT_NEAR(pace(load, full, {.layout = {.lines = 2}}) / pace(load, full), 1.5, 0.05);
  // Where DRAM has little to do the neighbours meet in the L2.
  const Crew lone{.blocks = 1, .warps_per_block = 1};
  EXPECT_NEAR(pace(load, lone, {.layout = {.lines = 2}}) / pace(load, lone), 1, 0.05);
}

TEST(Simulate, WritesLeaveNoChannelIdleThatHasReads) {
  Machine m = quiet_machine();
  m.write_batch = 12;
  const Program copy =
      parse_programs("f v 16 0 0 0 1\n8*LDG.32 1 0 - 00 00 00\n8*STG.32 1 - - 01 00 00\n").at({"f", "v"});
  EXPECT_NEAR(pace(copy, {.blocks = 16, .warps_per_block = 4}, {}, m), 64 * 16 * 128 / 16.0, 300);
}

TEST(Simulate, LoadsThatFollowEachOtherAreLuckyTogether) {
  Machine m = quiet_machine();
  m.dram_latency = 700;
  m.dram_spread = 150;
  m.dram_bytes = m.port_bytes = m.l2_bytes = 1600;  // no queue to speak of
  const auto row = [&](const std::string& rest) {
    const Program program = parse_programs("f v 16 0 0 0 1\nLDG.32 1 0 - 00 00 00\n15*" + rest +
                                           " 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n")
                                .at({"f", "v"});
    return pace(program, {.blocks = 1, .warps_per_block = 1}, {}, m, 200);
  };
  EXPECT_LT(row("LDG.32.NEXT"), row("LDG.32") - 50)
      << "the last of 16 is late by 0.44 of the spread, not by all";
}

TEST(Simulate, RowsFarApartAreNot) {
  Machine m = quiet_machine();
  m.dram_latency = 700;
  m.dram_spread = 150;
  m.dram_bytes = m.port_bytes = m.l2_bytes = 1600;
  m.barrier_cycles = 0;
  const Program row =
      parse_programs("f v 16 0 0 0 1\nLDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\nBAR 1 - - 00 00 00\n")
          .at({"f", "v"});
  const Crew block{.blocks = 1, .warps_per_block = 16};
  EXPECT_GT(pace(row, block, {.layout = {.apart = true}}, m), pace(row, block, {}, m) + 50);
}

TEST(Programs, KnowWhatAWarpStoresInOnePlace) {
  const Program program =
      parse_programs(
          "f v 16 0 0 0 1\nSTG.32 1 - - 00 00 00\n3*STG.32.NEXT 1 - - 00 00 00\nSTG.128 1 - - 00 00 00\n")
          .at({"f", "v"});
  EXPECT_EQ(program.places(), 2);
  EXPECT_EQ(program.bytes(Pipe::global_store), 4 * 4 + 16);
}

TEST(Programs, SayWhichLineIsWrong) {
  const auto complaint = [](const std::string& text) {
    try {
      static_cast<void>(parse_programs(text));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(complaint("# nothing\n\n"), "none");
  EXPECT_EQ(complaint("FFMA 4 - - 00 11 11\n"), "line 1: an instruction before the first variant");
  EXPECT_EQ(complaint("f v 16 0 0 0\n"), "line 1: a variant's line has seven words");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\nFFMA 4 - -\n"), "line 2: an instruction has seven words");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\nFFMA x - - 00 11 11\n"), "line 2: 'x' is no number");
  const std::string fma = "FFMA 4 - - 00 11 11\n";
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n2*{\n" + fma), "line 4: a block lacks its }");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n2*{\n" + fma + "f w 16 0 0 0 1\n"), "line 4: a block lacks its }");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n" + fma + "}\n"), "line 3: a } without its block");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65536*{\n"), "line 2: '65536' is not 0 to 65535");
  const std::string no_room = "more instructions than the model has room for";
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65*{\n65535*" + fma + "}\n"), "line 4: " + no_room);
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65535*{\n65535*{\n65535*{\n" + fma + "}\n}\n}\n"),
            "line 7: " + no_room);
  std::string sharing;  // of one loop, each of which has it
  for (int i = 0; i < 65; ++i) sharing += "f v" + std::to_string(i) + " 16 0 0 0 1\n";
  EXPECT_EQ(complaint(sharing + "65535*" + fma), "line 67: " + no_room);
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65535*{\n}\n"), "none");
}

TEST(Programs, RepeatBlocksAndShareALoop) {
  const std::string add = "FADD 4 - - 00 11 11\n";
  const std::string fma = "FFMA 4 - - 00 11 11\n";
  const std::string back = "BRA.TAKEN.12 5 - - 00 00 00\n";
  const auto inner = fma + fma + "12*" + add + back;
  const Programs folded = parse_programs("f v 16 0 0 0 1\nf w 24 0 0 0 2\n" + add + "2*{\n3*{\n2*" + fma +
                                         "12*" + add + back + "}\n" + add + "}\nf x 8 0 0 0 1\n" + add);
  const Programs flat =
      parse_programs("f v 16 0 0 0 1\n" + add + inner + inner + inner + add + inner + inner + inner + add);
  const auto shown = [](const Program& program) {
    std::vector<std::pair<Pipe, int>> all;
    for (const Instruction& i : program.loop) all.emplace_back(i.pipe, i.line);
    return all;
  };
  EXPECT_EQ(shown(folded.at({"f", "v"})), shown(flat.at({"f", "v"})));
  EXPECT_EQ(shown(folded.at({"f", "w"})), shown(flat.at({"f", "v"})));
  EXPECT_EQ(folded.at({"f", "w"}).registers_per_thread, 24);
  EXPECT_EQ(folded.at({"f", "w"}).passes, 2);
  EXPECT_EQ(folded.at({"f", "x"}).loop.size(), 1);
  const std::string none = add + "0*" + fma + "0*{\n" + fma + "}\n";
  EXPECT_EQ(parse_programs("f v 8 0 0 0 1\n" + none).at({"f", "v"}).loop.size(), 1);
}

TEST(Simulate, WhatABlockReadsSideBySideIsThereTogether) {
  // Warps that meet wait for the last of their loads: chance that they have in common costs them nothing.
  Machine m = quiet_machine();
  m.dram_latency = 700;
  m.dram_spread = 150;
  m.dram_bytes = m.port_bytes = m.l2_bytes = 1600;  // no queue to speak of
  m.barrier_cycles = 0;
  const Program row =
      parse_programs("f v 16 0 0 0 1\nLDG.32 1 0 - 00 00 00\nFADD 4 - - 01 00 00\nBAR 1 - - 00 00 00\n")
          .at({"f", "v"});
  const double alone = pace(row, {.blocks = 1, .warps_per_block = 1}, {}, m);
  EXPECT_NEAR(alone, 700, 30);
  // The largest of 16 would be 1.8 deviations above the mean were each by chance of its own: 270 cycles.
  EXPECT_NEAR(pace(row, {.blocks = 1, .warps_per_block = 16}, {}, m) - alone, 1.77 * 0.44 * 150, 50);
}

TEST(Simulate, AStoreTakesTheLoadStoreUnitAsLongAsItsWayToTheL2IsWide) {
  const auto stores = [](const std::string& store) {
    return pace(parse_programs("f v 16 0 0 0 1\n10*" + store + " 1 - - 00 00 00\n").at({"f", "v"}),
                {.blocks = 4, .warps_per_block = 4}, {.store_dram = 0}) /
           160;
  };
  EXPECT_NEAR(stores("STG.32"), 2, 0.05);
  EXPECT_NEAR(stores("STG.128"), 8, 0.05);
}

TEST(Simulate, StoresWaitOnceSoManyAreUnderWay) {
  const auto cycles = [](int stores) {
    const std::string text = "f v 16 0 0 0 1\n" + std::to_string(stores) + "*STG.128 1 - - 00 00 00\n";
    return simulate(parse_programs(text).at({"f", "v"}), quiet_machine(), {},
                    {.blocks = 1, .warps_per_block = 1}, 1)
        .cycles;
  };
  EXPECT_LT(cycles(80), 80 * 8 + 20) << "40 KiB go at once";
  EXPECT_GT(cycles(160), 32 * 1024 / 16) << "of 80, DRAM must have taken nearly half";
}

TEST(Simulate, AWarpSendsFiveMemoryInstructionsAheadOfTheUnit) {
  // Each takes it 32 cycles; what follows them is issued as the fifth last of them is done.
  const auto cycles = [](int loads) {
    const std::string text = "f v 16 0 0 0 1\n" + std::to_string(loads) + "*LDS.32 1 - - 00 00 00\n";
    return simulate(parse_programs(text).at({"f", "v"}), quiet_machine(), {.layout = {.bank_conflict = 32}},
                    {.blocks = 1, .warps_per_block = 1}, 1)
        .cycles;
  };
  EXPECT_LT(cycles(5), 20);
  EXPECT_NEAR(cycles(15) - cycles(10), 5 * 32, 2);
}

TEST(Simulate, ABarrierThatIsCompletePassesTheLoadStoreUnit) {
  Machine m = quiet_machine();
  m.barrier_cycles = m.arrival_cycles = m.release_cycles = 0;
  const auto turn = [&](const std::string& barrier) {  // of 16 blocks of one warp, that keep the unit busy
    return pace(parse_programs("f v 16 0 0 0 1\n8*LDS.32 1 - - 00 00 00\n" + barrier).at({"f", "v"}),
                {.blocks = 16, .warps_per_block = 1}, {}, m) /
           16;
  };
  EXPECT_NEAR(turn(""), 8, 0.1);
  EXPECT_NEAR(turn("BAR 1 - - 00 00 00\n"), 9, 0.1);
}

/// A turn that streams so many lines, waits for them, and loads as many more as are the same for all warps
/// and turns.
Program beside_stream(int lines, int same) {
  return parse_programs("f v 16 0 0 0 1\n" + std::to_string(lines) +
                        "*LDG.32 4 0 - 00 00 00\nFADD 4 - - 01 00 00\n" + std::to_string(same) +
                        "*LDG.32.SAME 4 1 - 00 00 00\nFADD 4 - - 02 00 00\n")
      .at({"f", "v"});
}

TEST(Simulate, LinesOfEverybodyStayInTheL1UntilOthersPassThem) {
  // Of the loads of a set that every warp reads once a turn, how many the L1 lacked: by ncu on an H200, eight
  // warps.
  const auto fetched = [](int lines, int same, std::size_t l1_lines) {
    Machine machine = quiet_machine();
    machine.dram_latency = 690;
    machine.dram_bytes = 17;
    const Usage usage = simulate(
        beside_stream(lines, same), machine,
        {.load_dram = double(lines) / (lines + same), .same_parts = 1, .l1_lines = l1_lines, .l2_bytes = 1e9},
        {.blocks = 2, .warps_per_block = 4}, 100);
    const double each = usage.port * machine.port_bytes / 128 / (100 * 8);
    return (each - lines) / same;
  };
  EXPECT_NEAR(fetched(8, 16, 168), 0.027, 0.015);
  EXPECT_NEAR(fetched(16, 32, 168), 0.073, 0.02);
  EXPECT_NEAR(fetched(32, 64, 168), 0.216, 0.03);
  EXPECT_NEAR(fetched(32, 64, 936), 0.007, 0.01);
}

TEST(Lines, WhoComesToALineOnItsWayWaitsForItAndAsksForNothing) {
  const Machine machine = quiet_machine();
  const Traffic traffic{.same_parts = 1, .l1_lines = 168};
  Random random;
  Lines lines(machine, traffic, {}, random);
  lines.held(7, 2, 0);
  ASSERT_EQ(lines.missed(), 2U);
  const double there = lines.ask(300);
  EXPECT_NEAR(there, 300, 33) << "lines of the L2 differ by as much";
  EXPECT_EQ(lines.held(7, 2, 100), there) << "both on their way: the later of them";
  EXPECT_EQ(lines.missed(), 0U);
  EXPECT_EQ(lines.held(7, 2, there), there + machine.l1_latency) << "a hit";
  EXPECT_EQ(lines.missed(), 0U);
}

TEST(Simulate, NoMoreLinesAreOnTheirWayThanTheL1HasRoomFor) {
  const auto cycles_per_line = [](std::size_t l1_lines) {
    const Crew crew{.blocks = 4, .warps_per_block = 4};
    return pace(beside_stream(32, 0), crew, {.l1_lines = l1_lines}) / (16 * 32);
  };
  EXPECT_NEAR(cycles_per_line(16), 660 / 16.0, 2) << "as many as there is room for, each for the latency";
  EXPECT_NEAR(cycles_per_line(512), 8, 0.3) << "the bandwidth of DRAM";
  EXPECT_NEAR(cycles_per_line(0), 8, 0.3) << "no limit is known";
}

TEST(Simulate, TheL2LosesLinesThatAllSmsLeaveAloneForLong) {
  const auto turn = [](double l2_bytes) {
    const Crew lone{.blocks = 1, .warps_per_block = 1};
    return pace(beside_stream(8, 8), lone,
                {.load_dram = 0.5, .same_parts = 1, .l1_lines = 4, .l2_bytes = l2_bytes});
  };
  EXPECT_GT(turn(512), turn(1e9) + 300) << "DRAM's latency in place of the L2's";
  EXPECT_NEAR(turn(2048), turn(1e9), 1) << "each turn streams 1 KiB";
  EXPECT_NEAR(turn(0), turn(1e9), 1) << "of unknown size";
}

TEST(Model, SpillsToFewLinesWaitForTheFullestBank) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 64e9;  // of the one SM
  p.spill_store_bytes_per_s = 16e9;
  p.spill_store_8_warps_bytes_per_s = 8e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const auto bytes_per_cycle = [&](int slots) {  // of 8 warps
    std::string text = "f v 16 " + std::to_string(4 * slots) + " 0 0 1\n";
    text += std::to_string(slots) + "*STL.32 1 - - 00 00 00\n";
    const Shape shape{
        .grid_size = 1, .warps_per_block = 8, .blocks_per_sm = 1, .passes = 400, .l1_bytes = 1 << 18};
    const double time_s =
        predict(parse_programs(text).at({"f", "v"}), {}, shape, {.sm_count = 1, .l2_bytes = 1 << 22}, p)
            .time_s;
    return 400.0 * 8 * 128 * slots / (time_s * p.sm_clock_hz);
  };
  EXPECT_NEAR(bytes_per_cycle(16), 8, 0.1) << "128 lines, as measured";
  EXPECT_NEAR(bytes_per_cycle(128), 16, 0.2) << "1,024";
  EXPECT_NEAR(bytes_per_cycle(32), 10.5, 0.3) << "256: by the root of the lines between the two";
  p.spill_store_8_warps_bytes_per_s = 0;
  EXPECT_NEAR(bytes_per_cycle(16), 16, 0.2) << "nobody measured it";
}

TEST(Model, NarrowWritesPayForThePagesThatTheyOpen) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 1600e9;
  p.dram_narrow_write_bytes_per_s = 1200e9;
  const auto bytes_per_cycle = [&](const std::string& store, int bytes, int warps) {
    const Shape shape{.grid_size = 100, .warps_per_block = warps, .blocks_per_sm = 1, .passes = 400};
    const Program program = parse_programs("f v 16 0 0 0 1\n4*" + store + " 1 - - 00 00 00\n").at({"f", "v"});
    const double time_s =
        predict(program, {.dram_bytes = 4.0 * bytes}, shape, {.sm_count = 100, .l2_bytes = 1 << 22}, p)
            .time_s;
    return 400.0 * warps * 32 * 4 * bytes / (time_s * p.sm_clock_hz);
  };
  EXPECT_NEAR(bytes_per_cycle("STG.128", 16, 32), 16, 0.3) << "wide";
  EXPECT_NEAR(bytes_per_cycle("STG.32", 4, 7), 16, 0.5)
      << "2,800 pieces at a time, below the banks that DRAM has";
  EXPECT_NEAR(bytes_per_cycle("STG.32", 4, 32), 12.7, 0.3) << "12,800: three in four beyond them";
}

TEST(Model, NarrowReadsPayAsMuchWhereWritesComeBetween) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 1600e9;
  p.dram_narrow_write_bytes_per_s = 1200e9;
  const auto bytes_per_cycle = [&](int loads, int stores) {
    const Shape shape{.grid_size = 200, .warps_per_block = 32, .blocks_per_sm = 2, .passes = 400};
    const std::string text = "f v 16 0 0 0 1\n" + std::to_string(loads) +
                             "*LDG.32 4 0 - 00 00 00\nFADD 4 - - 01 00 00\n" + std::to_string(stores) +
                             "*STG.32 4 - - 00 00 00\n";
    const double bytes = 4.0 * (loads + stores);
    const double time_s = predict(parse_programs(text).at({"f", "v"}), {.dram_bytes = bytes}, shape,
                                  {.sm_count = 100, .l2_bytes = 1 << 22}, p)
                              .time_s;
    return 400.0 * 64 * 32 * bytes / (time_s * p.sm_clock_hz);
  };
  EXPECT_NEAR(bytes_per_cycle(1, 1), 1 / (1 / 16.0 + 0.5 * (0.52 + 0.52 * 0.52) / 48), 0.2)
      << "of 100 x 64 places 0.52 are beyond the pages that stay open: 1 / 48 of a cycle each, the square of "
         "it for reads";
  EXPECT_NEAR(bytes_per_cycle(0, 16), 12.1, 0.3);
  EXPECT_NEAR(bytes_per_cycle(16, 16), 12.1, 0.3) << "each line read opens a page, too";
  EXPECT_NEAR(bytes_per_cycle(48, 16), 1 / (1 / 16.0 + 0.5 * 0.97 / 48), 0.4) << "one in three of them";
  EXPECT_NEAR(bytes_per_cycle(16, 0), 16, 0.4);
}

TEST(Model, EachWrittenBytePaysForTurningTheBusWhateverIsReadBesideIt) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = 1600e9;
  p.dram_mixed_bytes_per_s = 1280e9;  // 16 and 12.8 bytes a cycle and SM
  const auto bytes_per_cycle = [&](int loads, int stores) {
    const Shape shape{.grid_size = 200, .warps_per_block = 32, .blocks_per_sm = 2, .passes = 400};
    const std::string text = "f v 16 0 0 0 1\n" + std::to_string(loads) +
                             "*LDG.128 4 0 - 00 00 00\nFADD 4 - - 01 00 00\n" + std::to_string(stores) +
                             "*STG.128 4 - - 00 00 00\n";
    const double bytes = 16.0 * (loads + stores);
    const double time_s = predict(parse_programs(text).at({"f", "v"}), {.dram_bytes = bytes}, shape,
                                  {.sm_count = 100, .l2_bytes = 1 << 22}, p)
                              .time_s;
    return 400.0 * 64 * 32 * bytes / (time_s * p.sm_clock_hz);
  };
  EXPECT_NEAR(bytes_per_cycle(4, 0), 16, 0.4);
  EXPECT_NEAR(bytes_per_cycle(2, 2), 12.8, 0.3);
  EXPECT_NEAR(bytes_per_cycle(3, 1), 1 / (1 / 16.0 + 0.25 / 32), 0.3);
  EXPECT_NEAR(bytes_per_cycle(1, 4), 1 / (1 / 16.0 + 0.8 / 32), 0.3) << "slower than half and half";
  EXPECT_NEAR(bytes_per_cycle(0, 4), 16, 0.4) << "nothing to turn for";
}

TEST(Model, WarpsOfABlockShareTheRowsBeyondItsEdge) {
  // Each warp alone fetches every neighbouring row from the L2, which is then the limit; 16 share them.
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 32e9;  // of the one SM
  p.spill_store_bytes_per_s = 32e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const Program rows = chain(10, "LDG.128 1 0 - 00 00 00");
  // Ten loads of 16 bytes: four rows on either side, and the warp's own twice.
  const LoopFacts facts{.working_set_bytes = 2048,
                        .flow = {.reused_bytes = 160, .neighbour_bytes = 2 * 4 * 16, .set_of = Sharer::warp}};
  const auto cycles = [&](int warps_per_block) {
    const Shape shape{.grid_size = 16 / warps_per_block,
                      .warps_per_block = warps_per_block,
                      .blocks_per_sm = 16 / warps_per_block,
                      .passes = 200,
                      .l1_bytes = 128 * 1024};
    return predict(rows, facts, shape, {.sm_count = 1, .l2_bytes = 1 << 20}, p).time_s * 1e9 / (200 * 16);
  };
  EXPECT_NEAR(cycles(1), 8 * 512 / 32.0, 4);
  EXPECT_NEAR(cycles(2), 4 * 512 / 32.0, 4);
  EXPECT_NEAR(cycles(16), 10 * 512 / 128.0, 4) << "the L1's own rate";
}

TEST(Model, SetsThatOverflowTheL1MissMoreTheMoreTheyAre) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 32e9;
  p.spill_store_bytes_per_s = 32e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const Program sweep =
      parse_programs("f v 16 0 0 0 1\nLDG.128 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  const LoopFacts facts{.working_set_bytes = 4096, .flow = {.reused_bytes = 16, .set_of = Sharer::block}};
  const auto cycles =
      [&](int blocks) {  // of a pass of one block of four warps; 21 KiB have room for five of them
        const Shape shape{.grid_size = blocks,
                          .warps_per_block = 4,
                          .blocks_per_sm = blocks,
                          .passes = 4000,
                          .l1_bytes = 21 * 1024};
        return predict(sweep, facts, shape, {.sm_count = 1, .l2_bytes = 1 << 20}, p).time_s * 1e9 / 4000 /
               blocks;
      };
  EXPECT_NEAR(cycles(5), 4 * 512 / 128.0, 2) << "the L1's own rate";
  EXPECT_GT(cycles(8), 1.2 * cycles(5));
  EXPECT_GT(cycles(12), cycles(8));
  EXPECT_NEAR(cycles(16), 4 * 512 / 32.0, 0.05) << "the L2's rate, for nothing is hit any more";
}

TEST(Model, OwnSetsInLessThanATurnTakeTheirPartOfOne) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 32e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const Program eight =
      parse_programs("f v 16 0 0 0 8\n8*LDG.128 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  const LoopFacts facts{.working_set_bytes = 4096, .flow = {.reused_bytes = 16, .set_of = Sharer::block}};
  const auto time_s = [&](std::int64_t passes) {
    const Shape shape{
        .grid_size = 8, .warps_per_block = 4, .blocks_per_sm = 8, .passes = passes, .l1_bytes = 21 * 1024};
    return predict(eight, facts, shape, {.sm_count = 1, .l2_bytes = 1 << 20}, p).time_s;
  };
  EXPECT_DOUBLE_EQ(time_s(2), time_s(8) / 4) << "was 0 cycles of 0 turns: not a number";
}

TEST(Model, NamesTheParameterItLacks) {
  Parameters p;
  p.sm_clock_hz = 2e9;
  const Program mma = chain(4, "HMMA 4 - - 00 00 00");
  try {
    static_cast<void>(predict(mma, {},
                              {.grid_size = 1, .warps_per_block = 1, .blocks_per_sm = 1, .passes = 1},
                              {.sm_count = 1}, p));
    FAIL() << "predicted without mma_interval";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "the device's parameters lack 'mma_interval', which this kernel needs");
  }
}

}  // namespace
}  // namespace occbench::theory
