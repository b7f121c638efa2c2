// SPDX-License-Identifier: Apache-2.0
// What a run says at its end: planted effects are told, what noise could have made is not, and it fits a terminal.
#include "benchmarks/findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <sstream>

#include "benchmarks/curves.hpp"
#include "benchmarks/summary.hpp"

namespace occbench {
namespace {

/// Results of made-up kernels in experiments that are there.
class MadeUp {
 public:
  struct Point {
    int warps;
    double throughput;
    int registers = 32;
    std::size_t local_bytes = 0;
    RegisterRoute route = RegisterRoute::free;
  };

  /// `noise`: half of the 95 % interval, relative.
  void add(const std::string& experiment, const std::string& kernel, const std::vector<Point>& points,
           double noise = 0.001, double ceiling = 100e9) {
    for (const Point& p : points) {
      Variant& v = variants_.emplace_back();
      v.family = "made_up";
      v.name = kernel + "-" + std::to_string(p.registers);
      v.series = kernel;
      v.dials.route = p.route;
      CaseResult& r = results_.emplace_back();
      r.planned.spec = {.experiment = experiment, .variant = &v, .block_size = 128};
      r.planned.id = experiment + "." + v.name + "." + std::to_string(p.warps);
      r.planned.occupancy = {.warps_per_sm = p.warps, .fraction = p.warps / 64.0};
      r.planned.attributes = {.registers_per_thread = p.registers, .local_bytes = p.local_bytes};
      r.planned.footprint = {.block_size = 128, .registers_per_thread = p.registers};
      r.samples = 36;
      r.reached_precision = true;
      r.time_s = {1e-3, 1e-3 * (1 - noise), 1e-3 * (1 + noise)};
      r.time_p10_s = r.time_p90_s = 1e-3;
      r.throughput = p.throughput;
      r.ceiling = ceiling;
    }
  }

  [[nodiscard]] const std::vector<CaseResult>& results() const { return results_; }
  [[nodiscard]] std::string told(const std::string& experiment) const {
    for (const Finding& f : findings(results_))
      if (f.experiment == experiment) return f.sentence;
    return "";
  }

 private:
  std::list<Variant> variants_;  // whose addresses stay
  std::vector<CaseResult> results_;
};

using Points = std::vector<MadeUp::Point>;
const Points rising{{4, 10e9}, {8, 20e9}, {16, 40e9}, {32, 80e9}, {64, 80e9}};

TEST(Findings, FewWarpsThatAreEnough) {
  MadeUp run;
  run.add("latency_hiding", "wide", {{4, 78e9}, {8, 80e9}, {16, 80e9}, {32, 80e9}, {64, 80e9}});
  EXPECT_EQ(run.told("latency_hiding"),
            "`wide-32` reaches 78 GB/s, 97.5 % of the best of DRAM, with 4 of 64 warps per SM");
}

TEST(Findings, ACliffBesideAKernelThatDoesNotMind) {
  MadeUp run;
  run.add("registers", "load",
          {{64, 80e9, 28}, {64, 80e9, 30}, {64, 80e9, 31}, {48, 60e9, 33}, {48, 60e9, 40}});
  run.add("registers", "fma",
          {{64, 70e9, 28}, {64, 70e9, 30}, {64, 70e9, 31}, {48, 70e9, 33}, {48, 70e9, 40}});
  EXPECT_EQ(
      run.told("registers"),
      "registers per thread 31 -> 33 (occupancy 100 % -> 75 %) costs `load-33` 25 %, and `fma-33` nothing");
}

TEST(Findings, MoreWarpsThatCost) {
  MadeUp run;
  run.add("constant_memory", "uniform", {{4, 10e9}, {8, 20e9}, {16, 40e9}, {32, 20e9}, {64, 8e9}});
  EXPECT_EQ(run.told("constant_memory"),
            "`uniform-32` is best with 16 of 64 warps per SM (40 GB/s); 64 reach 20 % of that");
}

TEST(Findings, ASpillThatPaysAndOneThatCosts) {
  const auto capped = RegisterRoute::maxnreg;
  for (const double spilled : {80e9, 10e9}) {
    MadeUp run;
    run.add("spilling", "update",
            {{64, spilled, 32, 96, capped},
             {48, 40e9, 40, 0, capped},
             {40, 40e9, 48, 0, capped},
             {32, 40e9, 64, 0, capped},
             {24, 40e9, 80}});
    EXPECT_EQ(
        run.told("spilling"),
        spilled > 40e9
            ? "`update-32` spills 96 B at 32 registers and is 2.00 x as fast as the kernel without a cap "
              "(80 registers)"
            : "`update-32` spills 96 B at 32 registers and runs at 0.25 of the speed of the kernel without a "
              "cap (80 registers)");
  }
}

TEST(Findings, NothingThatNoiseCouldHaveMade) {
  MadeUp run;
  run.add("constant_memory", "noisy", {{4, 80e9}, {8, 85e9}, {16, 90e9}, {32, 100e9}, {64, 80e9}}, 0.2);
  EXPECT_EQ(run.told("constant_memory").find("is best with"), std::string::npos)
      << run.told("constant_memory");
}

TEST(Findings, NothingFromTooFewPoints) {
  MadeUp run;
  run.add("constant_memory", "uniform", {{4, 10e9}, {16, 40e9}, {32, 20e9}, {64, 10e9}});
  EXPECT_TRUE(findings(run.results()).empty());
  EXPECT_EQ(experiments_with_too_few_points(run.results()), 1U);
  run.add("latency_hiding", "read", rising);
  EXPECT_EQ(experiments_with_too_few_points(run.results()), 1U);
}

TEST(Findings, OneOfAnExperimentTwoOfAKindTheLargestFirst) {
  MadeUp run;
  int kept = 1;
  for (const char* experiment : {"adam", "gemv", "scan", "softmax", "nbody", "mri", "reduction"}) {
    const double best = 100e9;
    run.add(experiment, "a", {{4, 10e9}, {8, 20e9}, {16, best}, {32, 50e9}, {64, best * kept / 10}});
    run.add(experiment, "b", {{4, 10e9}, {8, 20e9}, {16, best}, {32, 50e9}, {64, best * kept / 10}});
    ++kept;
  }
  const auto told = findings(run.results());
  EXPECT_LE(told.size(), 5U);
  EXPECT_EQ(std::ranges::count(told, FindingKind::more_warps_cost, &Finding::kind), 2);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i - 1].effect, told[i].effect);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(told[i].experiment, told[j].experiment);
  }
}

TEST(Closing, FitsATerminalWhateverTheRun) {
  MadeUp run;
  const std::string name = "a-kernel-with-a-long-name-and-many-dials-in-it";
  for (const char* experiment : {"launch_bounds_roulette", "constant_memory", "lattice_boltzmann",
                                 "latency_hiding", "block_size_pick", "shared_latency"})
    run.add(experiment, name,
            {{1, 90e9, 16}, {8, 100e9, 24}, {16, 60e9, 32}, {32, 30e9, 40}, {64, 10e9, 48}});
  auto results = run.results();
  for (std::size_t i = 0; i < 9; ++i) {
    results[i].planned.status = i % 2 ? Status::invalid : Status::skipped;
    results[i].planned.reason =
        "a reason that is a whole sentence, and says what was seen and what was expected of it";
  }
  for (const bool is_model : {false, true})
    for (const bool interrupted : {false, true}) {
      std::ostringstream out;
      print_closing(out, results,
                    {.device = "NVIDIA H100 80GB HBM3",
                     .is_model = is_model,
                     .preset = Preset::quick,
                     .elapsed_s = 137.29,
                     .half_width = 0.005,
                     .rows_before = 2000,
                     .has_parameters = false,
                     .interrupted = interrupted,
                     .folder = "results/nvidia-h100-80gb-hbm3/2026-11-23-0123456789ab"});
      std::istringstream in(out.str());
      int lines = 0;
      for (std::string line; std::getline(in, line); ++lines) EXPECT_LE(line.size(), 80U) << line;
      EXPECT_LE(lines, 25) << out.str();
      EXPECT_NE(out.str().find(interrupted ? "occbench run --resume results/" : "next: occbench report"),
                std::string::npos);
      EXPECT_EQ(out.str().find("predicts") != std::string::npos, is_model);
    }
}

TEST(Throughput, HasTheDigitsThatMeanSomething) {
  EXPECT_EQ(format_throughput(4417.8e9, Ceiling::dram), "4,418 GB/s");
  EXPECT_EQ(format_throughput(369.6e9, Ceiling::dram), "370 GB/s");
  EXPECT_EQ(format_throughput(66.13e12, Ceiling::fp32), "66.1 TFLOP/s");
  EXPECT_EQ(format_throughput(19582.3e9, Ceiling::issue), "19,582 G operations/s");
}

}  // namespace
}  // namespace occbench
