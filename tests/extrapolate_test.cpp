// SPDX-License-Identifier: Apache-2.0
// A launch is extrapolated only once its cycles per unit are steady: work that slows down, and launches
// whose stores outrun memory.
#include "harness/theory/prediction/extrapolate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/quiet_machine.hpp"

namespace occbench::theory {
namespace {

TEST(Extrapolate, SteadyWorkIsSimulatedTwice) {
  std::vector<double> calls;
  const Extrapolation e =
      extrapolate([&](double n) { return calls.push_back(n), 3 + 100 * n; }, 8, 1000, 1e6);
  EXPECT_EQ(calls, (std::vector<double>{8, 16}));
  EXPECT_NEAR(e.cycles, 3 + 100 * 1000, 1e-6);
  EXPECT_LT(e.error_cycles, steady_tolerance * e.cycles);
}

TEST(Extrapolate, WorkThatSlowsDownIsSimulatedUntilSteady) {
  // three times as slow from 12 on
  const auto cycles = [](double n) { return n + 2 * std::max(0.0, n - 12); };
  const Extrapolation e = extrapolate(cycles, 8, 1000, 1e6);
  EXPECT_NEAR(e.cycles, cycles(1000), steady_tolerance * cycles(1000));
  EXPECT_LE(e.error_cycles, steady_tolerance * e.cycles);
}

TEST(Extrapolate, UnsteadyWorkStopsAtTheLimitAndReportsItsError) {
  double most = 0;
  const auto squares = [&](double n) { return most = std::max(most, n), n * n; };
  const Extrapolation e = extrapolate(squares, 8, 1e6, 100);
  EXPECT_EQ(most, 64);
  EXPECT_GT(e.error_cycles, steady_tolerance * e.cycles);
  EXPECT_EQ(extrapolate(squares, 8, 120, 1000).cycles, 120 * 120) << "all of it was simulated";
  EXPECT_EQ(extrapolate(squares, 8, 120, 1000).error_cycles, 0);
}

// --- One element per thread: blocks so short that the first of them end before DRAM has taken a store

struct Stream {
  std::string text;
  double bytes;  ///< per thread
};
constexpr double bytes_per_cycle = 16;  // of DRAM, for each SM

double cycles_of(const Stream& stream, int block_warps, int blocks, int waves, double* error_s = nullptr) {
  Parameters p = quiet_parameters();
  p.l2_bytes_per_s = 6400e9;  // of 100 SMs
  p.dram_read_bytes_per_s = p.dram_write_bytes_per_s = p.dram_mixed_bytes_per_s = 100 * bytes_per_cycle * 1e9;
  p.dram_loaded_latency_s = p.dram_mixed_loaded_latency_s = 600e-9;
  const Shape shape{.grid_size = 100 * blocks * waves,
                    .warps_per_block = block_warps,
                    .blocks_per_sm = blocks,
                    .iterations = 1,
                    .l1_bytes = 1 << 17};
  const Prediction prediction = predict(loop_of(stream.text), {.dram_bytes = stream.bytes}, shape,
                                        {.sm = {.sm_count = 100}, .l2_bytes = 1 << 26}, p);
  if (error_s != nullptr) *error_s = prediction.time_error_s;
  return prediction.time_s * p.sm_clock_hz;
}

const Stream init{"STG.32 1 - - 00 00 00\n", 4};
const Stream copy{"LDG.32 1 0 - 00 00 00\nSTG.32 1 - - 01 00 00\n", 8};

TEST(ShortBlocks, WriteRateNeverExceedsDramBandwidth) {
  for (const Stream& stream : {init, copy})
    for (const int block_warps : {1, 4, 32})
      for (const int waves : {1, 2, 7, 16, 17, 40, 400}) {
        const int blocks = std::min(32, 64 / block_warps);
        const double bytes = stream.bytes * 32 * block_warps * blocks * waves;
        EXPECT_LE(bytes / cycles_of(stream, block_warps, blocks, waves), 1.005 * bytes_per_cycle)
            << stream.text << block_warps << " warps, " << waves << " waves";
      }
}

TEST(ShortBlocks, LaunchEndsAfterItsStoresDrain) {
  // 8 KiB of stores: all of them are under way when the last warp ends.
  EXPECT_GE(cycles_of(init, 32, 2, 1), 8192 / bytes_per_cycle);
}

TEST(ShortBlocks, TimeGrowsWithTheWaves) {
  for (const Stream& stream : {init, copy}) {
    double before = 0;
    for (const int waves : {1, 2, 4, 8, 15, 16, 17, 18, 32, 33, 64, 100, 200, 400}) {
      double error_s = 0;
      const double now = cycles_of(stream, 1, 32, waves, &error_s);
      EXPECT_GT(now, before) << waves;
      EXPECT_LE(error_s * 1e9, steady_tolerance * now) << waves;
      before = now;
    }
  }
}

}  // namespace
}  // namespace occbench::theory
