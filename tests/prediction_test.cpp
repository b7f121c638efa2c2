// SPDX-License-Identifier: Apache-2.0
// What a whole prediction makes of a flow, on a machine that is made up.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "harness/theory/prediction/demand.hpp"
#include "harness/theory/prediction/model.hpp"
#include "harness/theory/simulator/lines.hpp"
#include "tests/quiet_machine.hpp"

namespace occbench::theory {
namespace {

TEST(Model, StreamingLoadsEvictSpillsFromL1) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.spill_store_bytes_per_s = 6400e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 6400e9;
  const auto cycles =
      [&](std::size_t lines) {  // of a trip of a lone warp that spills 128 lines and streams 80
        const Shape shape{.grid_size = 100,
                          .warps_per_block = 1,
                          .blocks_per_sm = 1,
                          .iterations = 400,
                          .l1_bytes = lines * 128};
        const std::string text =
            "f v 16 512 0 0 1\n128*STL.32 2 - - 00 00 00\n80*LDG.32 2 0 - 00 00 00\nFADD 4 - - 01 00 00\n"
            "128*LDL.32 2 1 - 00 00 00\nFADD 4 - - 02 00 00\n";
        return predict(parse_programs(text).at({"f", "v"}), {.dram_bytes = 320}, shape,
                       {.sm = {.sm_count = 100}, .l2_bytes = 1 << 26}, p)
                   .time_s *
               p.sm_clock_hz / 400;
      };
  EXPECT_NEAR(cycles(168), cycles(1000), 5) << "half of the 80 come between a store and its reload";
  EXPECT_GT(cycles(130), cycles(1000) + 150) << "all spilled lines would fit, but not beside these";
}

TEST(Model, OnlySingleIterationKernelsReadInGridOrder) {
  Program copy = loop_of("LDG.32 1 0 - 00 00 00\nSTG.32 1 - - 01 00 00\n");
  const auto in_order = [&](std::int64_t iterations) {
    const Shape shape{.grid_size = 10000, .warps_per_block = 8, .blocks_per_sm = 8, .iterations = iterations};
    return demand_of(copy, {.dram_bytes = 8}, shape, {.sm = {.sm_count = 100}, .l2_bytes = 1 << 26},
                     quiet_parameters())
        .traffic.in_order;
  };
  EXPECT_TRUE(in_order(1));
  EXPECT_FALSE(in_order(2));
  copy.iterations = 0.98;  // whatif scales them to another grid
  EXPECT_TRUE(in_order(1));
  copy.iterations = 4;
  EXPECT_TRUE(in_order(4));
}

TEST(Model, SpillsToFewLinesAreLimitedByTheBusiestBank) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 64e9;  // of the one SM
  p.spill_store_bytes_per_s = 16e9;
  p.spill_store_8_warps_bytes_per_s = 8e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const auto bytes_per_cycle = [&](int slots) {  // of 8 warps
    std::string text = "f v 16 " + std::to_string(4 * slots) + " 0 0 1\n";
    text += std::to_string(slots) + "*STL.32 1 - - 00 00 00\n";
    const Shape shape{
        .grid_size = 1, .warps_per_block = 8, .blocks_per_sm = 1, .iterations = 400, .l1_bytes = 1 << 18};
    const double time_s = predict(parse_programs(text).at({"f", "v"}), {}, shape,
                                  {.sm = {.sm_count = 1}, .l2_bytes = 1 << 22}, p)
                              .time_s;
    return 400.0 * 8 * 128 * slots / (time_s * p.sm_clock_hz);
  };
  EXPECT_NEAR(bytes_per_cycle(16), 8, 0.1) << "128 lines, as measured";
  EXPECT_NEAR(bytes_per_cycle(128), 16, 0.2) << "1,024";
  EXPECT_NEAR(bytes_per_cycle(32), 10.5, 0.3) << "256: by the root of the lines between the two";
  p.spill_store_8_warps_bytes_per_s = 0;
  EXPECT_NEAR(bytes_per_cycle(16), 16, 0.2) << "nobody measured it";
}

TEST(Model, NarrowWritesPayForDramPageOpens) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 1600e9;
  p.dram_narrow_write_bytes_per_s = 1200e9;
  const auto bytes_per_cycle = [&](const std::string& store, int bytes, int warps) {
    const Shape shape{.grid_size = 100, .warps_per_block = warps, .blocks_per_sm = 1, .iterations = 400};
    const Program program = loop_of("4*" + store + " 1 - - 00 00 00\n");
    const double time_s = predict(program, {.dram_bytes = 4.0 * bytes}, shape,
                                  {.sm = {.sm_count = 100}, .l2_bytes = 1 << 22}, p)
                              .time_s;
    return 400.0 * warps * 32 * 4 * bytes / (time_s * p.sm_clock_hz);
  };
  EXPECT_NEAR(bytes_per_cycle("STG.128", 16, 32), 16, 0.3) << "wide";
  EXPECT_NEAR(bytes_per_cycle("STG.32", 4, 7), 16, 0.5)
      << "2,800 pieces at a time, below the banks that DRAM has";
  EXPECT_NEAR(bytes_per_cycle("STG.32", 4, 32), 12.7, 0.3) << "12,800: three in four beyond them";
}

/// Bytes per cycle and SM, of 100 SMs, that a loop of loads and stores moves, each of `bits` per thread.
double bytes_per_cycle(const Parameters& p, int bits, int loads, int stores) {
  const Shape shape{.grid_size = 200, .warps_per_block = 32, .blocks_per_sm = 2, .iterations = 400};
  const std::string width = std::to_string(bits);
  const Program loop =
      loop_of(std::to_string(loads) + "*LDG." + width + " 4 0 - 00 00 00\nFADD 4 - - 01 00 00\n" +
              std::to_string(stores) + "*STG." + width + " 4 - - 00 00 00\n");
  const double bytes = bits / 8.0 * (loads + stores);
  const LoopFacts facts{.dram_bytes = bytes};
  const double time_s = predict(loop, facts, shape, {.sm = {.sm_count = 100}, .l2_bytes = 1 << 22}, p).time_s;
  return 400.0 * 64 * 32 * bytes / (time_s * p.sm_clock_hz);
}

TEST(Model, NarrowReadsPayForPageOpensBetweenWrites) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 1600e9;
  p.dram_narrow_write_bytes_per_s = 1200e9;
  const auto rate = [&](int loads, int stores) { return bytes_per_cycle(p, 32, loads, stores); };
  EXPECT_NEAR(rate(1, 1), 1 / (1 / 16.0 + 0.5 * (0.52 + 0.52 * 0.52) / 48), 0.2)
      << "of 100 x 64 places 0.52 are beyond the pages that stay open: 1 / 48 of a cycle each, the square of "
         "it for reads";
  EXPECT_NEAR(rate(0, 16), 12.1, 0.3);
  EXPECT_NEAR(rate(16, 16), 12.1, 0.3) << "each line read opens a page, too";
  EXPECT_NEAR(rate(48, 16), 1 / (1 / 16.0 + 0.5 * 0.97 / 48), 0.4) << "one in three of them";
  EXPECT_NEAR(rate(16, 0), 16, 0.4);
}

TEST(Model, EachWrittenBytePaysForDramBusTurnaround) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = 1600e9;
  p.dram_mixed_bytes_per_s = 1280e9;  // 16 and 12.8 bytes a cycle and SM
  const auto rate = [&](int loads, int stores) { return bytes_per_cycle(p, 128, loads, stores); };
  EXPECT_NEAR(rate(4, 0), 16, 0.4);
  EXPECT_NEAR(rate(2, 2), 12.8, 0.3);
  EXPECT_NEAR(rate(3, 1), 1 / (1 / 16.0 + 0.25 / 32), 0.3);
  EXPECT_NEAR(rate(1, 4), 1 / (1 / 16.0 + 0.8 / 32), 0.3) << "slower than half and half";
  EXPECT_NEAR(rate(0, 4), 16, 0.4) << "nothing to trip for";
}

TEST(Model, WarpsOfABlockShareHaloRows) {
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
                      .iterations = 200,
                      .l1_bytes = 128 * 1024};
    return predict(rows, facts, shape, {.sm = {.sm_count = 1}, .l2_bytes = 1 << 20}, p).time_s * 1e9 /
           (200 * 16);
  };
  EXPECT_NEAR(cycles(1), 8 * 512 / 32.0, 4);
  EXPECT_NEAR(cycles(2), 4 * 512 / 32.0, 4);
  EXPECT_NEAR(cycles(16), 10 * 512 / 128.0, 4) << "the L1's own rate";
}

TEST(Model, MissesGrowWithBlocksBeyondL1Capacity) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 32e9;
  p.spill_store_bytes_per_s = 32e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const Program sweep = loop_of("LDG.128 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n");
  const LoopFacts facts{.working_set_bytes = 4096, .flow = {.reused_bytes = 16, .set_of = Sharer::block}};
  const auto cycles =
      [&](int blocks) {  // of an iteration of one block of four warps; 21 KiB have room for five of them
        const Shape shape{.grid_size = blocks,
                          .warps_per_block = 4,
                          .blocks_per_sm = blocks,
                          .iterations = 4000,
                          .l1_bytes = 21 * 1024};
        return predict(sweep, facts, shape, {.sm = {.sm_count = 1}, .l2_bytes = 1 << 20}, p).time_s * 1e9 /
               4000 / blocks;
      };
  EXPECT_NEAR(cycles(5), 4 * 512 / 128.0, 2) << "the L1's own rate";
  EXPECT_GT(cycles(8), 1.2 * cycles(5));
  EXPECT_GT(cycles(12), cycles(8));
  EXPECT_NEAR(cycles(16), 4 * 512 / 32.0, 0.05) << "the L2's rate, for nothing is hit any more";
}

TEST(Model, PartialIterationsScaleTheReuseTime) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 32e9;
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 20e9;
  const Program eight =
      parse_programs("f v 16 0 0 0 8\n8*LDG.128 1 0 - 00 00 00\nFADD 4 - - 01 00 00\n").at({"f", "v"});
  const LoopFacts facts{.working_set_bytes = 4096, .flow = {.reused_bytes = 16, .set_of = Sharer::block}};
  const auto time_s = [&](std::int64_t iterations) {
    const Shape shape{.grid_size = 8,
                      .warps_per_block = 4,
                      .blocks_per_sm = 8,
                      .iterations = iterations,
                      .l1_bytes = 21 * 1024};
    return predict(eight, facts, shape, {.sm = {.sm_count = 1}, .l2_bytes = 1 << 20}, p).time_s;
  };
  EXPECT_DOUBLE_EQ(time_s(2), time_s(8) / 4) << "was 0 cycles of 0 trips: not a number";
}

TEST(Model, NamesTheMissingParameter) {
  Parameters p;
  p.sm_clock_hz = 2e9;
  const Program mma = chain(4, "HMMA 4 - - 00 00 00");
  try {
    static_cast<void>(predict(mma, {},
                              {.grid_size = 1, .warps_per_block = 1, .blocks_per_sm = 1, .iterations = 1},
                              {.sm = {.sm_count = 1}}, p));
    FAIL() << "predicted without mma_interval";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "the device's parameters lack 'mma_interval', which this kernel needs");
  }
}

TEST(Model, RejectsLoopsOfUnknownOpcodes) {
  const auto said = [](int fmas) {
    const std::string text =
        "f v 16 0 0 0 1\n" + std::to_string(fmas) + "*FFMA 4 - - 00 00 00\nREDG.E 4 - - 00 00 00\n";
    try {
      predict(parse_programs(text).at({"f", "v"}), {},
              {.grid_size = 1, .warps_per_block = 1, .blocks_per_sm = 1, .iterations = 4},
              {.sm = {.sm_count = 1}}, quiet_parameters());
      return std::string("predicted");
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(said(99), "predicted");
  EXPECT_EQ(said(9), "the model does not know REDG, 10 % of its loop");
}

}  // namespace
}  // namespace occbench::theory
