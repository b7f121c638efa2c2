// SPDX-License-Identifier: Apache-2.0
// What a case is called, what its work is held against, and how long it is made: arithmetic, no device
// needed.
#include "harness/measure/plan.hpp"

#include <gtest/gtest.h>

#include "harness/device/random.cuh"

namespace occbench {
namespace {

Device h200() { return model_device(theory::find_device("h200")); }

TEST(Ceilings, MatchTheH200DataSheet) {
  const Device device = h200();
  const auto at_full_clock = [&](Ceiling c) { return ceiling_rate(c, device, 1.98e9) * 1e-12; };
  EXPECT_NEAR(at_full_clock(Ceiling::dram), 4.814, 1e-3);
  EXPECT_NEAR(at_full_clock(Ceiling::fp32), 66.9, 0.1);
  EXPECT_NEAR(at_full_clock(Ceiling::fp64), 33.5, 0.1);
  EXPECT_NEAR(at_full_clock(Ceiling::l1), 33.5, 0.1);
  EXPECT_NEAR(at_full_clock(Ceiling::shared_memory), 33.5, 0.1);
  EXPECT_NEAR(at_full_clock(Ceiling::issue), 33.5, 0.1);
  EXPECT_EQ(at_full_clock(Ceiling::none), 0);
  // H100 white paper: 989.4 TFLOP/s dense bf16 at its boost clock for tensor work, 1,830 MHz
  EXPECT_NEAR(ceiling_rate(Ceiling::tensor_bf16, device, 1.83e9) * 1e-12, 989.4, 1);
}

TEST(Ceilings, UseBytesFlopOrOperations) {
  const Work work{.bytes = 1, .flop = 2, .operations = 3};
  for (const auto& [ceiling, what, name] : {std::tuple(Ceiling::dram, 1.0, "byte/s"),
                                            {Ceiling::l1, 1.0, "byte/s"},
                                            {Ceiling::shared_memory, 1.0, "byte/s"},
                                            {Ceiling::fp32, 2.0, "flop/s"},
                                            {Ceiling::tensor_bf16, 2.0, "flop/s"},
                                            {Ceiling::issue, 3.0, "operation/s"},
                                            {Ceiling::none, 3.0, "operation/s"}}) {
    EXPECT_EQ(amount(work, unit_of(ceiling)), what) << to_string(ceiling);
    EXPECT_EQ(rate_name(unit_of(ceiling)), name) << to_string(ceiling);
  }
}

TEST(CaseIds, ContainEveryDial) {
  const Variant variant{.family = "f", .name = "v"};
  const CaseSpec plain{.experiment = "e", .variant = &variant, .block_size = 64};
  EXPECT_EQ(plain.id(), "e.f.v.b64");
  CaseSpec all = plain;
  all.resident_blocks = 2;
  all.ballast_bytes = 1024;
  all.carveout_percent = 50;
  all.waves = 3;
  all.grid_size = 133;
  all.cluster_size = 4;
  all.sm_count = 64;
  all.block_s = 200e-6;
  EXPECT_EQ(all.id(), "e.f.v.b64.r2.s1024.c50.w3.g133.k4.m64.t200us");
}

TEST(SampleIndices, AreOnePerStratumAtVaryingOffsets) {
  for (const std::uint64_t count : {1024ULL, 1025ULL, 4224ULL * 256, 700'000'000ULL}) {
    constexpr std::uint64_t samples = 1024;
    std::uint64_t at_the_beginning = 0;
    for (std::uint64_t k = 0; k < samples; ++k) {
      const std::uint64_t place = sample_place(k, samples, count);
      ASSERT_GE(place, k * count / samples);
      ASSERT_LT(place, (k + 1) * count / samples);
      at_the_beginning += place == k * count / samples;
    }
    if (count > 2 * samples) {
      EXPECT_LT(at_the_beginning, samples / 10);
    }
  }
}

TEST(Iterations, FillTheTargetTimeAtTheTightestLimit) {
  const Device device = h200();
  const double target_s = 1e-3;
  const auto iterations = [&](const LoopIteration& iteration, int warps) {
    return static_cast<double>(iterations_for({.iteration = iteration}, 0, device, warps, target_s));
  };
  EXPECT_NEAR(iterations({.latency_cycles = 1980}, 1), 1000, 1);       // a microsecond each
  EXPECT_NEAR(iterations({.dram_waits = 1}, 1), 1250, 1);              // 0.8 us each
  EXPECT_NEAR(iterations({.dram_waits = 0.25}, 1), 5000, 1);           // four stages
  EXPECT_NEAR(iterations({.pipe_cycles_per_warp = 99}, 20), 1000, 1);  // 20 warps in turn
  const double bytes = 4.814e12 * target_s / (64 * 32 * 132);          // of one thread, at DRAM's rate
  EXPECT_NEAR(iterations({.dram_bytes = bytes / 100}, 64), 100, 1);
  EXPECT_EQ(iterations({.latency_cycles = 1e9}, 1), 1);  // never none
}

}  // namespace
}  // namespace occbench
