// SPDX-License-Identifier: Apache-2.0
// Recipes for the model's hardware facts (harness/theory/hardware.hpp).
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "benchmarks/calibration/calibration.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "harness/theory/hardware.hpp"

namespace occbench {

namespace {

/// Cycles per step of a chain, from iterations that differ by `steps`.
double step_cycles(const Reading& shorter, const Reading& longer, double steps = 48) {
  return (longer.cycles_per_iteration() - shorter.cycles_per_iteration()) / steps;
}

/// Cycles per line of a loop.
double line_cycles(const Reading& r, double lines) { return r.cycles_per_iteration() / lines; }

/// Capacity in lines: halfway between the longest loop as fast as the first and the first that is 20 %
/// slower.
double capacity(Readings readings, std::span<const int> lines) {
  const double base = line_cycles(readings[0], lines[0]);
  for (std::size_t i = 1; i < readings.size(); ++i)
    if (line_cycles(readings[i], lines[i]) > 1.2 * base) {
      if (i == 1) throw std::domain_error("the second of its loops is slower than the first already");
      return (lines[i - 1] + lines[i]) / 2.0;
    }
  throw std::domain_error("none of its loops is slower than the first");
}

/// Share of the L2's size at which sweeps have lost half of their total loss of bandwidth.
double half_loss_share(Readings readings, std::span<const int> percent) {
  const double best = readings.front().bytes_per_s();
  const double worst = readings.back().bytes_per_s();
  if (worst > 0.8 * best) throw std::domain_error("the largest set is read as fast as the smallest");
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const double before = readings[i - 1].bytes_per_s();
    const double now = readings[i].bytes_per_s();
    const double half = (best + worst) / 2;
    if (now <= half)
      return (percent[i - 1] + (percent[i] - percent[i - 1]) * (before - half) / (before - now)) / 100;
  }
  return percent.back() / 100.0;
}

}  // namespace

std::vector<Recipe> probe_recipes(const theory::SmLimits& sm) {
  const Sweep registry("calibrate", sm, Preset::full);
  const auto of = [&](std::string_view family, const std::string& variant, CaseSpec spec) {
    spec.experiment = "calibrate";
    spec.variant = &registry.variant(family, variant);
    if (spec.block_size == 0) spec.block_size = spec.variant->fixed_block_size;
    return spec;
  };
  const CaseSpec full{.block_size = 512};          // all blocks that fit
  const CaseSpec lone_warp{.resident_blocks = 1};  // per SM
  const CaseSpec one_per_scheduler{.block_size = 128, .resident_blocks = 1};
  const auto probe = [&](const std::string& variant, const CaseSpec& spec) {
    return of("probes", variant, spec);
  };
  const auto calibration = [&](const std::string& variant, const CaseSpec& spec) {
    return of("calibration", variant, spec);
  };
  const auto code = [&](std::span<const int> lines) {
    std::vector<CaseSpec> specs;
    for (const int n : lines) specs.push_back(probe("code-" + std::to_string(n), one_per_scheduler));
    return specs;
  };
  static constexpr int near_lines[] = {128, 224, 240, 272, 288};
  static constexpr int far_lines[] = {512, 896, 960, 1088, 1152};
  static constexpr int shares[] = {50, 60, 65, 70, 75, 80, 90, 110};
  std::vector<CaseSpec> sweeps;
  for (const int percent : shares)
    sweeps.push_back(calibration("l2-sweep-" + std::to_string(percent), {.block_size = 512}));
  std::vector<CaseSpec> sets;
  for (const int lines : {3, 4, 5, 6}) sets.push_back(probe("l1-set-" + std::to_string(lines), lone_warp));

  return {
      {.parameter = "fma_interval",
       .cases = {calibration("fma-clock", full)},
       .method = "5 chains of 80 FMAs in all warps; of two halves",
       .value = [](Readings r) { return 2 * r[0].cycles_per_iteration() / (400 * r[0].warps_per_sm / 4); }},
      {.parameter = "fma_latency",
       .cases = {calibration("fma-8", one_per_scheduler), calibration("fma-32", one_per_scheduler)},
       .method = "one chain: difference of loops of 32 and 8 FMAs",
       .value = [](Readings r) { return step_cycles(r[0], r[1], 24); }},
      {.parameter = "wide_product_interval",
       .cases = {probe("wide-4x16", full), probe("wide-4x64", full)},
       .method = "mad.hi.u32 in 4 chains and all warps: difference of loops of 256 and 64, per scheduler",
       .value = [](Readings r) { return interval_between(r[0], r[1], 192); }},
      {.parameter = "special_interval",
       .cases = {probe("rsqrt-4x16", full), probe("rsqrt-4x64", full)},
       .method = "rsqrt in 4 chains and all warps: difference of loops of 256 and 64, per scheduler",
       .value = [](Readings r) { return interval_between(r[0], r[1], 192); }},
      {.parameter = "special_latency",
       .cases = {probe("rsqrt-1x16", one_per_scheduler), probe("rsqrt-1x64", one_per_scheduler)},
       .method = "one chain of rsqrt: difference of loops of 64 and 16",
       .value = [](Readings r) { return step_cycles(r[0], r[1]); }},
      {.parameter = "fp64_latency",
       .cases = {probe("fp64-1x16", one_per_scheduler), probe("fp64-1x64", one_per_scheduler),
                 probe("fp64-4x16", full), probe("fp64-4x64", full)},
       .method = "one chain of FP64 FMAs, 64 less 16, less their interval in all warps",
       .value = [](Readings r) { return step_cycles(r[0], r[1]) - interval_between(r[2], r[3], 192); }},
      {.parameter = "mma_latency",
       .cases = {calibration("mma-chain-8", one_per_scheduler),
                 calibration("mma-chain-32", one_per_scheduler)},
       .method = "one chain of mma.sync m16n8k16: difference of loops of 32 and 8",
       .value = [](Readings r) { return step_cycles(r[0], r[1], 24); }},
      {.parameter = "constant_latency",
       .cases = {probe("constant-16", lone_warp), probe("constant-64", lone_warp)},
       .method = "one warp per SM follows a chain in constant memory: difference of loops of 64 and 16",
       .value = [](Readings r) { return step_cycles(r[0], r[1]); }},
      {.parameter = "warp_launch_interval",
       .cases = {probe("begin", {.block_size = 1024, .resident_blocks = 1})},
       .method = "the clock as the first thing that a warp reads: from the first to the last of a block's 31 "
                 "behind warp 0",
       .value = [](Readings r) { return r[0].own_cycles; }},
      {.parameter = "code_near_lines",
       .cases = code(near_lines),
       .method = "FMA loops of 128 to 288 lines, a warp per scheduler: between the last as fast as the "
                 "shortest and the next",
       .value = [](Readings r) { return capacity(r, near_lines); }},
      {.parameter = "code_near_interval",
       .cases = {probe("code-512", one_per_scheduler)},
       .method = "a loop of FMAs of 512 lines, a warp per scheduler: cycles of a line",
       .value = [](Readings r) { return line_cycles(r[0], 512); }},
      {.parameter = "code_far_lines",
       .cases = code(far_lines),
       .method = "the same of 512 to 1,152 lines",
       .value = [](Readings r) { return capacity(r, far_lines); }},
      {.parameter = "code_far_interval",
       .cases = {probe("code-1536", one_per_scheduler)},
       .method = "a loop of FMAs of 1,536 lines, a warp per scheduler: cycles of a line",
       .value = [](Readings r) { return line_cycles(r[0], 1536); }},
      {.parameter = "register_bytes",
       .cases = {calibration("shared-chain", lone_warp), probe("shared-chain-16B", lone_warp)},
       .method =
           "12 bytes more of each lane over what a chain of 16-byte loads takes longer than one of 4, less "
           "wavefront_interval of the three wavefronts more",
       .value =
           [](Readings r) {
             const double longer = (r[1].cycles_per_iteration() - r[0].cycles_per_iteration()) / 12 -
                                   3 * theory::fact("wavefront_interval");
             if (longer <= 0) throw std::domain_error("wide loads take no longer than narrow ones");
             return 12 / longer;
           }},
      {.parameter = "l1_ways",
       .cases = sets,
       .method = "one warp per SM goes round 3, 4, 5 and 6 lines whose place in the L1 is the same by "
                 "l1_parities, in 64 groups: the most that it finds there again",
       .value =
           [](Readings r) {
             if (r[3].own_cycles < 1.5 * r[0].own_cycles)
               throw std::domain_error("six lines do not evict each other: the parities are others here");
             double ways = 3;
             for (std::size_t i = 1; i < r.size() && r[i].own_cycles < 1.2 * r[0].own_cycles; ++i) ++ways;
             return ways;
           }},
      {.parameter = "l2_line_spread",
       .cases = {calibration("l2-single", lone_warp)},
       .method =
           "one warp per SM, the clock read around each load of a chain in 4 MiB: standard deviation in "
           "an SM, less 4 cycles of a line's own, as of an even spread",
       .value =
           [](Readings r) {
             const double of_lines = r[0].own_cycles * r[0].own_cycles - 16;
             if (of_lines <= 0) throw std::domain_error("all lines are equally far");
             return std::sqrt(3 * of_lines);
           }},
      {.parameter = "l2_request_share",
       .cases = {probe("gather-whole", full), probe("gather-parts", full)},
       .method = "32 bytes from each of four lines against a line whole, in all warps: a third of what they "
                 "take longer",
       .value = [](Readings r) { return (r[1].time_s / r[1].bytes / (r[0].time_s / r[0].bytes) - 1) / 3; }},
      {.parameter = "l2_share",
       .cases = sweeps,
       .method = "all SMs sweep half to 110 % of the L2's size: where half of the loss has come",
       .value = [](Readings r) { return half_loss_share(r, shares); },
       .note =
           [](Readings r) {
             std::string rates = "TB/s at each:";
             for (const Reading& each : r) {
               char text[16];
               std::snprintf(text, sizeof text, " %.2f", each.bytes_per_s() / 1e12);
               rates += text;
             }
             return rates;
           }},
  };
}

}  // namespace occbench
