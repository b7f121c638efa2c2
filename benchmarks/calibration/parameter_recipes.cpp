// SPDX-License-Identifier: Apache-2.0
// Recipes for the model's parameters.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "benchmarks/calibration/calibration.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "harness/theory/simulator/l1.hpp"

namespace occbench {

namespace {

constexpr double schedulers = 4;  // of an SM, on every GPU since 2017

/// Cycles per barrier and warp on a full SM.
double barrier_cycles(const Reading& two, const Reading& eight) {
  return (eight.cycles_per_iteration() - two.cycles_per_iteration()) / (6 * two.warps_per_sm);
}

/// The best of several launch shapes.
template <class Of>
double max_of(Readings readings, Of of) {
  double best = of(readings.front());
  for (const Reading& r : readings) best = std::max(best, of(r));
  return best;
}
template <class Of>
double min_of(Readings readings, Of of) {
  return -max_of(readings, [&](const Reading& r) { return -of(r); });
}

double max_bytes_per_s(Readings readings) {
  return max_of(readings, [](const Reading& r) { return r.bytes_per_s(); });
}
double max_bytes_per_cycle(Readings readings) {
  return max_of(readings, [](const Reading& r) { return r.bytes_per_cycle(); });
}

std::string format_number(const char* format, double number) {
  char text[160];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// The loaded case whose bandwidth is closest to half.
struct Loaded {
  double idle_s;
  double share;  ///< of the full bandwidth
  double latency_s;
};
/// `r`: the idle chain, three cases of full bandwidth, then the loaded cases.
Loaded loaded_of(Readings r) {
  const double full = max_bytes_per_s(r.subspan(1, 3));
  const auto share = [&](const Reading& loaded) { return loaded.bytes_per_s() / full; };
  const auto loaded = r.subspan(4);
  const Reading& best = *std::ranges::min_element(
      loaded, {}, [&](const Reading& candidate) { return std::abs(share(candidate) - 0.5); });
  return {r[0].own_s(), share(best), best.own_s()};
}

/// Latency at half of the bandwidth, extrapolated from the closest case along u / (1 - u).
double loaded_latency_s(Readings r, const std::string& bandwidth) {
  const Loaded l = loaded_of(r);
  if (std::abs(l.share - 0.5) > 0.15)
    throw std::domain_error("the nearest load is " + format_number("%.0f %%", 100 * l.share) + " of the " +
                            bandwidth + " bandwidth, not within 35 to 65");
  return l.idle_s + (l.latency_s - l.idle_s) * (1 - l.share) / l.share;
}
std::string loaded_share(Readings r) {
  return format_number("measured at %.1f %%", 100 * loaded_of(r).share);
}

/// Cycles of one FMA of a chain, from iterations of 8 and of 32 of them.
double fma_cycles(Readings r) { return (r[1].cycles_per_iteration() - r[0].cycles_per_iteration()) / 24; }
/// A branch issues one cycle after the iteration's last FMA and delays the chain by its time beyond that
/// FMA's latency.
double branch_cycles(Readings r) {
  const double delay = (4 * r[0].cycles_per_iteration() - r[1].cycles_per_iteration()) / 3;
  return delay + fma_cycles(r) - 1;
}

/// Cycles per block turnover: many short blocks against one long block, with the time per iteration from a
/// longer one.
double turnover_cycles(Readings r) {
  const Reading& one = r[0];
  const Reading& longer = r[1];
  const Reading& many = r[2];
  const double iteration_s = (longer.time_s - one.time_s) / (longer.iterations - one.iterations);
  const double same_work_s = one.time_s + iteration_s * (many.waves * many.iterations - one.iterations);
  return (many.time_s - same_work_s) / (many.waves - 1) * many.clock_hz;
}

}  // namespace

double interval_between(const Reading& shorter, const Reading& longer, double instructions) {
  return (longer.cycles_per_iteration() - shorter.cycles_per_iteration()) /
         (instructions * longer.warps_per_sm / schedulers);
}

std::vector<Recipe> calibration_recipes(const theory::SmLimits& sm) {
  const Sweep registry("calibrate", sm, Preset::full);
  const auto of = [&](std::string_view variant, CaseSpec spec = {}) {
    spec.experiment = "calibrate";
    spec.variant = &registry.variant("calibration", variant);
    if (spec.block_size == 0) spec.block_size = spec.variant->fixed_block_size;
    return spec;
  };
  const int max_warps = sm.max_warps_per_sm();
  const auto some_warps = [&](std::string_view variant, int block_size, std::vector<double> shares) {
    std::vector<CaseSpec> specs;
    for (const double share : shares)
      specs.push_back(
          of(variant, {.block_size = block_size,
                       .resident_blocks = static_cast<int>(share * max_warps) * 32 / block_size}));
    return specs;
  };
  const std::vector<double> few{0.25, 0.5, 1};
  const std::vector<double> many{0.5, 0.75, 1};
  const CaseSpec full{.block_size = 512};          // all blocks that fit
  const CaseSpec lone_warp{.resident_blocks = 1};  // per SM
  const CaseSpec one_per_scheduler{.block_size = 128, .resident_blocks = 1};
  const bool has_wgmma = sm.cc_major == 9 && sm.cc_minor == 0;
  const CaseSpec tensor = has_wgmma ? of("wgmma") : of("mma-2x3", {.block_size = 128, .resident_blocks = 4});
  constexpr double one_iteration_s = 1e-9;
  const auto concatenate = [](std::vector<CaseSpec> a, const std::vector<CaseSpec>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const auto reads = some_warps("dram-read", 256, many);
  std::vector<CaseSpec> loaded = concatenate({of("dram-chain", lone_warp)}, reads);
  for (const int eighths : {6, 7, 8})  // two blocks with one chasing warp each
    loaded.push_back(of("dram-loaded", {.block_size = max_warps * eighths / 16 * 32, .resident_blocks = 2}));
  std::vector<CaseSpec> loaded_copies =
      concatenate({of("dram-chain", lone_warp)}, some_warps("dram-copy", 256, many));
  for (const int eighths : {4, 5, 6, 8})
    loaded_copies.push_back(
        of("dram-loaded-copy", {.block_size = max_warps * eighths / 16 * 32, .resident_blocks = 2}));
  const int l1_kib = sm.cc_major < 8 ? 32 : 28;  // left by the largest carve-out
  const std::vector<CaseSpec> crowded_barriers{
      of("barrier-2", {.block_size = 1024}), of("barrier-8", {.block_size = 1024}),
      of("barrier-2", {.block_size = 32}), of("barrier-8", {.block_size = 32})};
  const auto turnover = [&](int waves, double block_s) {
    return of("fma-32", {.block_size = 64, .resident_blocks = 1, .waves = waves, .block_s = block_s});
  };

  std::vector<Recipe> recipes{
      {.parameter = "sm_clock",
       .cases = {of("fma-clock", full)},
       .method = "SM clock across launches of 5 chains of dependent FMAs per thread in all warps",
       .value = [](Readings r) { return r[0].clock_hz; }},
      {.parameter = "tensor_clock",
       .cases = {tensor},
       .method = std::string("SM clock across ") + (has_wgmma ? "wgmma 64x256x16" : "mma.sync m16n8k16") +
                 " of random bf16 back to back, launches as long as the suite's",
       .value = [](Readings r) { return r[0].clock_hz; }},
      {.parameter = "alu_interval",
       .cases = {of("logic-120", full), of("logic-480", full)},
       .method = "LOP3 on two registers in all warps: difference of loops of 480 and 120, per scheduler",
       .value = [](Readings r) { return interval_between(r[0], r[1], 360); }},
      {.parameter = "operand_interval",
       .cases = {of("operands-128", full), of("operands-512", full)},
       .method = "x += c y, y -= c x in 4 pairs and all warps: difference of loops of 512 and 128 FMAs, per "
                 "scheduler",
       .value = [](Readings r) { return interval_between(r[0], r[1], 384); }},
      {.parameter = "mma_interval",
       .cases = {of("mma-2x3", {.block_size = 128, .resident_blocks = 3}),
                 of("mma-2x3", {.block_size = 128, .resident_blocks = 4}),
                 of("mma-2x3", {.block_size = 128, .resident_blocks = 5})},
       .method = "6 sums of a 32 x 24 tile in each warp, 48 mma.sync an iteration: the least of 3, 4 and 5 "
                 "warps per "
                 "scheduler",
       .value =
           [](Readings r) {
             return min_of(r, [](const Reading& x) {
               return x.cycles_per_iteration() / (48 * x.warps_per_sm / schedulers);
             });
           }},
      {.parameter = "branch",
       .cases = {of("fma-8", one_per_scheduler), of("fma-32", one_per_scheduler)},
       .method =
           "32 dependent FMAs as 4 iterations of 8 against one of 32, 1 warp per scheduler: what 3 branches "
           "delay the chain by, a third of it, and the part of each that passes under the last FMA",
       .value = branch_cycles,
       .note = [](Readings r) { return format_number("an FMA takes %.3f cycles", fma_cycles(r)); }},
      {.parameter = "barrier",
       .cases = {of("barrier-2", one_per_scheduler), of("barrier-8", one_per_scheduler)},
       .method = "a block of 4 warps alone on its SM: difference of loops of 8 and 2 barriers back to back",
       .value = [](Readings r) { return (r[1].cycles_per_iteration() - r[0].cycles_per_iteration()) / 6; }},
      {.parameter = "barrier_arrival",
       .cases = crowded_barriers,
       .method = "loops of 8 and 2 barriers in blocks of 32 warps and of 1, as many as fit: per warp an "
                 "arrival and a "
                 "32nd of a release, or an arrival and a release",
       .value =
           [](Readings r) { return (32 * barrier_cycles(r[0], r[1]) - barrier_cycles(r[2], r[3])) / 31; }},
      {.parameter = "barrier_release",
       .cases = crowded_barriers,
       .method = "the same two kinds of blocks: their difference is 31 / 32 of a release",
       .value =
           [](Readings r) { return 32 * (barrier_cycles(r[2], r[3]) - barrier_cycles(r[0], r[1])) / 31; }},
      {.parameter = "barrier_register",
       .cases = {of("barrier-2", {.block_size = 32}), of("barrier-8", {.block_size = 32}),
                 of("barrier-counted-2", {.block_size = 32}), of("barrier-counted-8", {.block_size = 32})},
       .method =
           "blocks of one warp, as many as fit: the same loops with the number of threads in a register",
       .value = [](Readings r) { return barrier_cycles(r[2], r[3]) - barrier_cycles(r[0], r[1]); }},
      {.parameter = "shared_latency",
       .cases = {of("shared-chain", lone_warp)},
       .method = "each lane of a lone warp follows a chain in its own bank, 12 loads an iteration",
       .value = [](Readings r) { return r[0].cycles_per_iteration() / 12; }},
      {.parameter = "shared_bandwidth",
       .cases = some_warps("shared-hits-16B", 256, few),
       .method =
           "8 independent 16-byte loads an iteration without bank conflicts: the best of 3 numbers of warps",
       .value = max_bytes_per_cycle},
      {.parameter = "l1_reserved",
       .cases = {of("l1-overflow", lone_warp), of("l1-chain", lone_warp), of("l2-chain", lone_warp)},
       .method = "a chain of 32 KiB at a carve-out of 100 %, by the kernel's own clock: its latency gives "
                 "the share of "
                 "hits, and that the lines for which the model's L1 has room; they are short of " +
                 std::to_string(l1_kib) + " KiB",
       .value =
           [l1_kib](Readings r) {
             const double hits = (r[2].own_cycles - r[0].own_cycles) / (r[2].own_cycles - r[1].own_cycles);
             return 1024.0 * l1_kib - 128 * theory::capacity_from_hit_rate(32 * 1024 / 128, hits);
           }},
      {.parameter = "l1_latency",
       .cases = {of("l1-chain", lone_warp)},
       .method = "one warp per SM follows a chain of lines in 8 KiB, after a lap of it, by its own clock",
       .value = [](Readings r) { return r[0].own_cycles; }},
      {.parameter = "l1_bandwidth",
       .cases = some_warps("l1-hits-16B", 256, few),
       .method = "8 independent 16-byte loads an iteration that hit the L1: the best of 3 numbers of warps",
       .value = max_bytes_per_cycle},
      {.parameter = "l2_latency",
       .cases = {of("l2-chain", lone_warp)},
       .method =
           "one warp per SM follows a chain of lines in 4 MiB by ld.global.cg, by its own clock: the mean "
           "of all SMs and lines",
       .value = [](Readings r) { return r[0].own_cycles; }},
      {.parameter = "l2_bandwidth",
       .cases = some_warps("l2-sweep", 512, many),
       .method =
           "all SMs sweep a quarter of the L2 by ld.global.cg, 4 x 16 bytes in flight a thread: the best "
           "of 3 numbers of warps",
       .value = max_bytes_per_s},
      {.parameter = "spill_store_bandwidth",
       .cases = some_warps("spill", 512, many),
       .method = "4 words a thread and iteration stored to local memory, and as many reloaded: the best of 3 "
                 "numbers "
                 "of warps",
       .value = max_bytes_per_s},
      {.parameter = "spill_store_bandwidth_8_warps",
       .cases = {of("spill", {.block_size = 128, .resident_blocks = 2})},
       .method = "the same in 8 warps: 128 lines of each SM, stored to again and again",
       .value = max_bytes_per_s},
      {.parameter = "sm_port_bandwidth",
       .cases = {of("l2-sweep-2MiB", {.grid_size = 1})},
       .method =
           "one block of 1,024 threads alone on the device sweeps 2 MiB of the L2, 4 x 16 bytes in flight "
           "a thread",
       .value = [](Readings r) { return r[0].bytes_per_s() / r[0].clock_hz; }},
      {.parameter = "dram_latency",
       .cases = {of("dram-chain", lone_warp)},
       .method =
           "one warp per SM follows a chain of lines through 1 GiB, at random within each 2 MiB and these in "
           "turn, so that TLB misses are rare; by its own clock",
       .value = [](Readings r) { return r[0].own_s(); }},
      {.parameter = "dram_spread",
       .cases = {of("dram-single", lone_warp)},
       .method = "the same chain, the clock read around each load: standard deviation over all loads and SMs",
       .value = [](Readings r) { return r[0].own_s(); }},
      {.parameter = "dram_loaded_latency",
       .cases = loaded,
       .method = "2 warps per SM follow the chain while the others read 4 bytes a thread at a time: of 3 "
                 "numbers of "
                 "warps the one nearest to half of the bandwidth, from there to 50 % along u / (1 - u)",
       .value = [](Readings r) { return loaded_latency_s(r, "read"); },
       .note = loaded_share},
      {.parameter = "dram_mixed_loaded_latency",
       .cases = loaded_copies,
       .method = "2 warps per SM follow the chain while the others copy 4 bytes a thread at a time: of 4 "
                 "numbers of "
                 "warps the one nearest to half of the copy bandwidth, from there to 50 % along u / (1 - u)",
       .value = [](Readings r) { return loaded_latency_s(r, "copy"); },
       .note = loaded_share},
      {.parameter = "dram_read_bandwidth",
       .cases = reads,
       .method = "8-byte loads, 3 in flight a thread: the best of 3 numbers of warps",
       .value = max_bytes_per_s},
      {.parameter = "dram_write_bandwidth",
       .cases = some_warps("dram-write", 256, many),
       .method = "8-byte stores, 3 an iteration: the best of 3 numbers of warps",
       .value = max_bytes_per_s},
      {.parameter = "dram_narrow_write_bandwidth",
       .cases = {of("dram-write-narrow", full)},
       .method = "4-byte stores of all warps, each to four places far apart by turns",
       .value = max_bytes_per_s},
      {.parameter = "dram_mixed_bandwidth",
       .cases = some_warps("dram-copy", 256, many),
       .method = "a copy by 8-byte loads and stores, 3 an iteration: the best of 3 numbers of warps",
       .value = max_bytes_per_s},
      {.parameter = "bulk_copy_latency",
       .cases = {of("bulk-copy", lone_warp)},
       .method = "one warp per SM copies 2 KiB and waits for them, by its own clock from before the "
                 "announcement to "
                 "behind the wait",
       .value = [](Readings r) { return r[0].own_s(); }},
      {.parameter = "block_turnover",
       .cases = {turnover(1, 1e-3), turnover(1, 2e-3), turnover(200, 5e-6)},
       .method = "200 blocks of 5 us one after another on each SM against one that does their iterations; no "
                 "block loads "
                 "anything",
       .value = turnover_cycles},
      {.parameter = "block_starts",
       .cases = {of("fma-32", {.block_size = 32, .waves = 960, .block_s = one_iteration_s})},
       .method = "960 waves of blocks of one warp and one iteration",
       .value = [](Readings r) { return r[0].waves * r[0].warps_per_sm * r[0].sm_count / r[0].time_s; }},
      {.parameter = "launch",
       .cases = {},
       .method = "the harness's own empty kernel between two events behind a delay kernel"},
  };
  return recipes;
}

}  // namespace occbench
