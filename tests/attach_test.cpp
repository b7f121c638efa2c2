// SPDX-License-Identifier: Apache-2.0
// Verdicts on synthetic times, the order in which arms are drawn, and damaged files.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/attach/preload/flat_map.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/protocol/attachable.hpp"
#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {
namespace {

const theory::SmLimits& h100() {
  static const theory::SmLimits sm = [] {
    theory::SmLimits limits{.cc_major = 9,
                            .cc_minor = 0,
                            .sm_count = 132,
                            .warp_size = 32,
                            .max_threads_per_block = 1024,
                            .max_threads_per_sm = 2048,
                            .max_blocks_per_sm = 32,
                            .registers_per_block = 65'536,
                            .registers_per_sm = 65'536,
                            .smem_per_block_bytes = 49'152,
                            .smem_per_block_optin_bytes = 232'448,
                            .smem_per_sm_bytes = 233'472,
                            .smem_reserved_per_block_bytes = 1'024};
    return limits;
  }();
  return sm;
}

/// A kernel of 256 threads whose times follow `law` of (share of the natural warps, whether pinned), with a
/// spread of `spread` parts around it.
Kernel made_up(int registers, unsigned blocks, const std::function<double(double, bool)>& law,
               double spread = 1e-3, int samples = 30) {
  Kernel k{.name = "k", .footprint = {.block_size = 256, .registers_per_thread = registers}};
  k.grid[0] = blocks;
  k.grid[1] = k.grid[2] = k.block[1] = k.block[2] = 1;
  k.block[0] = 256;
  k.sms = h100().sm_count;
  k.blocks_per_sm = theory::occupancy(h100(), k.footprint).blocks_per_sm;
  const auto add = [&](int arm, int resident) {
    Arm& a = k.arms[arm];
    a.blocks_per_sm = resident;
    for (int i = 0; i < samples; ++i)
      a.times_us.push_back(law(static_cast<double>(resident) / k.blocks_per_sm, arm != untouched) *
                           (1 + spread * (i % 2 == 0 ? 1 : -1) * (i % 5) / 4));
  };
  add(untouched, k.blocks_per_sm);
  add(pinned, k.blocks_per_sm);
  int arm = first_level;
  for (const double share : {0.75, 0.5, 0.25})
    add(arm++, std::max(1, static_cast<int>(std::lround(share * k.blocks_per_sm))));
  k.launches = k.timed = static_cast<std::uint64_t>(5 * samples);
  k.untouched_timed = static_cast<std::uint64_t>(samples);
  k.untouched_us = 100.0 * samples;
  return k;
}

constexpr unsigned many_blocks = 132 * 8 * 20;

double latency(double warps, bool) { return 100 / warps; }
double flat(double, bool) { return 100; }
double thrashing(double warps, bool) { return 60 + 40 * warps; }
double in_l1(double, bool is_pinned) { return is_pinned ? 150 : 100; }
double gentle(double warps, bool) { return 90 + 10 / warps; }

TEST(AttachVerdict, FollowsTheLaw) {
  EXPECT_EQ(judge(made_up(40, many_blocks, latency), h100()).finding, Finding::needs_occupancy);
  EXPECT_EQ(judge(made_up(32, many_blocks, flat), h100()).finding, Finding::saturated);
  EXPECT_EQ(judge(made_up(32, many_blocks, thrashing), h100()).finding, Finding::faster_at_lower_occupancy);
  EXPECT_EQ(judge(made_up(32, many_blocks, in_l1), h100()).finding, Finding::needs_l1);
  EXPECT_EQ(judge(made_up(40, many_blocks, gentle), h100()).finding, Finding::small_gain);
}

double near_saturated(double warps, bool) { return 97.4 + 2.6 / warps; }
double far_from_any(double warps, bool) { return 94 + 6 / warps; }
double l1_at_three_percent(double, bool is_pinned) { return is_pinned ? 103 : 100; }
double barely_faster(double warps, bool) { return 96 + 4 * warps; }

TEST(AttachVerdict, SaysWhereAFigureIsAtAThreshold) {
  const auto why = [](double (*law)(double, bool), int registers = 32) {
    return judge(made_up(registers, many_blocks, law), h100()).why;
  };
  EXPECT_EQ(why(near_saturated).find("a step down costs 0.9 % (0."), 0U) << why(near_saturated);
  EXPECT_NE(why(near_saturated).find("), at the threshold of 1 %"), std::string::npos) << why(near_saturated);
  EXPECT_EQ(why(l1_at_three_percent).find("without the L1 it takes 3.0 %"), 0U) << why(l1_at_three_percent);
  EXPECT_EQ(why(barely_faster).find("fewer warps save"), std::string::npos);
  for (const auto& law : {flat, latency, thrashing, in_l1, far_from_any}) EXPECT_EQ(why(law), "");
}

/// 100 samples, each quantity at 10 % of its peak and one higher.
Counted counted(Quantity high, double share) {
  Counted c{.samples = 100};
  c.us.fill(1000);
  c.share_us.fill(100);
  c.share_us[high] = 1000 * share;
  return c;
}

TEST(AttachVerdict, CountersJudgeWhatNoArmCan) {
  Kernel k = made_up(32, many_blocks, flat);
  k.skip_reason = SkipReason::one_block;
  const auto judged = [&](Quantity high, double share) {
    k.counted = counted(high, share);
    const Verdict v = judge(k, h100());
    return std::string(words_of(v.finding)) + ": " + v.why;
  };
  EXPECT_EQ(judged(tensor, 0.88),
            "throughput limit: tensor cores at 88 %, occupancy is not the lever (one block per SM)");
  EXPECT_EQ(judged(issue, 0.3),
            "latency: nothing over 40 %, issue slots at 30 %: more warps or blocks (one block per SM)");
  EXPECT_EQ(judged(l2, 0.5), "no single limit: L2 at 50 % (one block per SM)");
  k.counted.samples = 5;
  EXPECT_EQ(judge(k, h100()).finding, Finding::skipped);
}

TEST(AttachVerdict, SaysWhereArmsAndCountersDisagree) {
  Kernel needs = made_up(40, many_blocks, latency), saturated = made_up(32, many_blocks, flat);
  needs.counted = counted(dram, 0.92);
  EXPECT_EQ(judge(needs, h100()).finding, Finding::needs_occupancy);
  EXPECT_EQ(judge(needs, h100()).why, "but counters have DRAM at 92 %");
  saturated.counted = counted(dram, 0.2);
  EXPECT_EQ(judge(saturated, h100()).why, "but counters have nothing over 40 %, DRAM at 20 %");
  needs.counted = counted(dram, 0.2);
  saturated.counted = counted(dram, 0.92);
  EXPECT_EQ(judge(needs, h100()).why + judge(saturated, h100()).why, "");
  EXPECT_EQ(judge(needs, h100()).has_agreement, true);
  needs.counted = counted(dram, 0.92);
  EXPECT_EQ(judge(needs, h100()).has_agreement, false);
  needs.counted = {};
  EXPECT_EQ(judge(needs, h100()).has_agreement, std::nullopt);
}

TEST(AttachVerdict, ReadsTheWordsOfSchema6) {
  EXPECT_EQ(finding_of("faster lower"), Finding::faster_at_lower_occupancy);  // retired
  EXPECT_EQ(finding_of("helps little"), Finding::small_gain);                 // retired
  EXPECT_EQ(finding_of("left alone"), Finding::skipped);                      // retired
  EXPECT_EQ(finding_of("better"), std::nullopt);
  for (int n = 0; n <= static_cast<int>(Finding::small_gain); ++n)
    EXPECT_EQ(finding_of(words_of(static_cast<Finding>(n))), static_cast<Finding>(n));
}

TEST(AttachVerdict, AFasterCarveoutIsNotFewerWarps) {
  const auto law = [](double, bool is_pinned) { return is_pinned ? 90.0 : 100.0; };
  EXPECT_EQ(judge(made_up(32, many_blocks, law), h100()).finding, Finding::saturated);
}

TEST(AttachVerdict, AWideIntervalThatLeavesNoDoubtIsEnough) {
  EXPECT_EQ(judge(made_up(40, many_blocks, latency, 0.15, 12), h100()).finding, Finding::needs_occupancy);
  EXPECT_EQ(judge(made_up(40, many_blocks, gentle, 0.15, 12), h100()).finding, Finding::unknown);
}

TEST(AttachVerdict, PredictsTheNextStepAndItsInterval) {
  const Verdict v = judge(made_up(40, many_blocks, latency), h100());
  EXPECT_EQ(v.next.needs, "8 registers fewer");
  EXPECT_EQ(v.next.blocks_per_sm, 8);
  ASSERT_TRUE(v.gain);
  EXPECT_NEAR(v.gain->value, 1 - 6 / 8.0, 0.005);
  EXPECT_LE(v.gain->low, 1 - 6 / 8.0 + 1e-9);
  EXPECT_GE(v.gain->high, v.gain->value);
}

TEST(AttachVerdict, NeverPromisesMoreThanTheWarps) {
  for (const auto& law : {latency, flat, thrashing, gentle}) {
    const Verdict v = judge(made_up(40, many_blocks, law), h100());
    ASSERT_TRUE(v.gain);
    EXPECT_GE(v.gain->value, 0);
    EXPECT_LE(v.gain->low, v.gain->value);
    EXPECT_LE(v.gain->high, 1 - 6 / 8.0 + 1e-9);
  }
}

TEST(AttachVerdict, TakesWholeWavesOut) {
  // Two waves of eight blocks an SM are three of six: 18 to 16 without any need of occupancy.
  const auto steps = [](double warps, bool) { return 100 * std::ceil(2 / warps) * warps / 2; };
  const Verdict v = judge(made_up(32, 132 * 16, steps), h100());
  EXPECT_EQ(v.finding, Finding::waves);
  EXPECT_NEAR(v.levels.front().wave_change, 18 / 16.0 - 1, 1e-9);
}

TEST(AttachVerdict, DoesNotJudgeWhatItDoesNotKnow) {
  EXPECT_EQ(judge(made_up(32, many_blocks, flat, 1e-3, 4), h100()).finding, Finding::unknown);
  Kernel noisy = made_up(32, many_blocks, flat, 0.5, 12);
  EXPECT_EQ(judge(noisy, h100()).finding, Finding::unknown);
  Kernel two = made_up(32, many_blocks, flat);
  std::vector<double>& times = two.arms[untouched].times_us;
  for (std::size_t i = 0; i < times.size(); i += 3) times[i] *= 3;  // a third of them: the MAD sees nothing
  EXPECT_NE(judge(two, h100()).why.find("several kinds"), std::string::npos);
  Kernel clustered = made_up(32, many_blocks, flat);
  clustered.skip_reason = SkipReason::cluster;
  EXPECT_EQ(judge(clustered, h100()).finding, Finding::skipped);
  Kernel captured = made_up(32, many_blocks, flat);
  captured.captured = captured.launches;
  EXPECT_EQ(judge(captured, h100()).finding, Finding::unknown);
}

TEST(AttachVerdict, OneSentenceForTheProgram) {
  Collected all;
  all.kernels = {made_up(40, many_blocks, latency), made_up(32, many_blocks, flat)};
  std::vector<Verdict> verdicts;
  for (const Kernel& k : all.kernels) verdicts.push_back(judge(k, h100()));
  const std::string text = sentence(all, verdicts);
  EXPECT_NE(text.find("hold 50 % of GPU time"), std::string::npos) << text;
  EXPECT_NE(text.find("about 12.5 %"), std::string::npos) << text;
  verdicts[0].gain = {.value = 0.001, .low = -0.003, .high = 0.005};  // of half of the program
  EXPECT_NE(sentence(all, verdicts).find("their next steps would gain less than 0.3 %."), std::string::npos)
      << sentence(all, verdicts);
}

TEST(AttachSchedule, EachArmOncePerBlock) {
  Schedule schedule({.seed = 3, .precision = 1e-9, .warm_up = 2}, 77, {1, 1, 0.75, 0.5, 0.25});
  Budget budget(1e9);
  for (int i = 0; i < 2; ++i) {
    const auto draw = schedule.next(budget);
    EXPECT_TRUE(draw.is_warm_up);
    schedule.add_time(draw, 100, budget);
  }
  for (int block = 0; block < 10; ++block) {
    std::map<int, int> seen;
    for (int i = 0; i < 5; ++i) {
      const auto draw = schedule.next(budget);
      EXPECT_TRUE(draw.of_block);
      ++seen[draw.arm];
      schedule.add_time(draw, 100 + block, budget);
    }
    EXPECT_EQ(seen.size(), 5U);
  }
}

/// Of 1,000 launches with these times in rotation, few are changed.
void draws_few(const std::vector<double>& times) {
  Schedule schedule({.warm_up = 1}, 5, {1, 1, 0.5});
  Budget budget(1e9);
  int changed = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto draw = schedule.next(budget);
    changed += draw.arm == untouched ? 0 : 1;
    schedule.add_time(draw, times[i % times.size()], budget);
  }
  EXPECT_TRUE(schedule.is_known());
  EXPECT_LT(changed, 50);
}

TEST(AttachSchedule, StopsSamplingAKnownArm) { draws_few({100}); }

TEST(AttachSchedule, StopsSamplingSeveralKinds) { draws_few({100, 200}); }

TEST(AttachSchedule, TheBudgetHolds) {
  for (const auto& [share, timing_us] : {std::pair{0.02, 0.0}, {0.2, 0.0}, {0.02, 3.0}, {0.2, 3.0}}) {
    Schedule schedule({.precision = 1e-9, .warm_up = 1, .most_samples = 100'000}, 5, {1, 1, 0.75, 0.5, 0.25});
    Budget budget(share, timing_us);
    double natural = 0, extra = 0;
    for (int i = 0; i < 20'000; ++i) {
      const auto draw = schedule.next(budget);
      const double warps[] = {1, 1, 0.75, 0.5, 0.25};
      const double time = (90 + i % 7) / warps[draw.arm];                       // never known well enough
      if (draw.of_block || i % 32 == 0) schedule.add_time(draw, time, budget);  // as launches are timed
      natural += 100;
      extra += (draw.arm == untouched ? 0 : time - 100) + (draw.of_block ? timing_us : 0);
    }
    EXPECT_LE(extra, share * natural);
    EXPECT_GT(extra, 0.1 * share * natural);
  }
}

TEST(AttachSchedule, ExpensiveKernelsAreDrawnToo) {
  constexpr double warps[] = {1, 1, 0.75, 0.5, 0.25};
  constexpr int kernels = 41;  // the first is thirty times as long as each of the others
  std::vector<Schedule> schedules;
  for (int k = 0; k < kernels; ++k)
    schedules.emplace_back(Plan{.precision = 1e-9, .warm_up = 1}, static_cast<std::uint64_t>(k),
                           std::vector<double>(std::begin(warps), std::end(warps)));
  Budget budget(0.05, 3);
  std::map<int, int> draws;
  for (int step = 0; step < 3000; ++step)
    for (int k = 0; k < kernels; ++k) {
      const auto draw = schedules[static_cast<std::size_t>(k)].next(budget);
      const double time = (k == 0 ? 300 : 10) * (0.9 + 0.02 * (step % 7)) / warps[draw.arm];
      if (k == 0 && draw.of_block) ++draws[draw.arm];
      if (draw.of_block || step % 32 == 0)  // as launches are timed
        schedules[static_cast<std::size_t>(k)].add_time(draw, time, budget);
    }
  EXPECT_GE(draws[first_level + 2], 6);  // 0 if the budget served them first come, first served
}

TEST(AttachSchedule, ARefusedDrawIsRepeatedOrNever) {
  Schedule schedule({.warm_up = 1}, 5, {1, 1, 0.5});
  Budget budget(1e9);
  schedule.add_time(schedule.next(budget), 100, budget);
  auto draw = schedule.next(budget);
  schedule.refuse(draw, budget, false);
  EXPECT_EQ(schedule.next(budget).arm, draw.arm);
  for (int i = 0; i < 300; ++i) {
    draw = schedule.next(budget);
    if (draw.arm == first_level)
      schedule.refuse(draw, budget, true);
    else
      schedule.add_time(draw, 100, budget);
  }
  EXPECT_TRUE(schedule.is_known());
}

TEST(AttachCollect, DamagedFilesAreReported) {
  const auto folder = std::filesystem::temp_directory_path() / "occbench-attach-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::vector<std::string> texts = {
      "process\t99\t1\t0\t13000\tprogram\n",
      "process\t1\t1\t0\t13000\tprogram\nsignature\t0\t0\t1\n",
      "process\t1\t1\t0\t13000\tprogram\nlevel\t7\t2\t128\t4\n",
      "process\t1\t1\t0\t13000\tprogram\ndevice\t0\tGPU\tx\tnine\n",
      "process\t1\t1\t0\t13000\tprogram\nlevel\t0\t99999999999999999999\t1\t1\n",
      "\n\n",
      "",
      "cut of",
  };
  for (const std::string& text : texts) {
    std::ofstream(folder / "process-1-0.txt") << text;
    std::ofstream(folder / "process-1-0.counts") << "short";
    std::ofstream(folder / "process-1-0.launches") << std::string(40, '\x7f');
    const Collected all = collect(folder);
    EXPECT_EQ(all.processes.size(), 1U);
    EXPECT_TRUE(all.kernels.empty());
  }
  std::filesystem::remove(folder / "process-1-0.counts");
  EXPECT_FALSE(collect(folder).complaints.empty());
  std::filesystem::remove(folder / "process-1-0.txt");
  {
    std::ofstream notes(folder / not_attached_file);
    for (const char* name : {"/b", "/a", "/b", "/c", "/d", "/e"}) notes << "setuid\t" << name << '\n';
    notes << "cut of";
  }
  const std::string text =
      "6 processes were not attached to: /a (setuid), /b (setuid) x 2, /c (setuid), /d (setuid), 1 more";
  EXPECT_EQ(collect(folder).complaints, std::vector{text});
  std::filesystem::resize_file(folder / not_attached_file, most_not_attached_bytes);
  EXPECT_EQ(collect(folder).complaints, std::vector{"at least " + text});
  std::filesystem::resize_file(folder / not_attached_file, std::uintmax_t{1} << 40);
  EXPECT_EQ(collect(folder).complaints.size(), 1U);
  std::filesystem::remove_all(folder);
}

TEST(AttachRecordLines, HaveTheFieldsOfTheirList) {
  const std::string line =
      "signature\t2\t1\t21120\t1\t1\t256\t1\t1\t0\t8\t57dcee27a9a684da\t3\tstep "
      "one\t2\t9a29ebc646c66d6c\t\t-1\t132\n";
  const SignatureRecord r{.number = 2,
                          .function = 1,
                          .grid_x = 21'120,
                          .grid_y = 1,
                          .grid_z = 1,
                          .block_x = 256,
                          .block_y = 1,
                          .block_z = 1,
                          .blocks_per_sm = 8,
                          .arguments = "57dcee27a9a684da",
                          .skip_reason = SkipReason::one_residency,
                          .range = "step\tone",
                          .graph_kernels = 2,
                          .graph = "9a29ebc646c66d6c",
                          .before_function = -1,
                          .sm_count = 132};
  EXPECT_EQ(line_of(r), line);
  Fields fields = fields_of(line.substr(0, line.size() - 1));
  EXPECT_EQ(line_of(record_of<SignatureRecord>(fields)), line);
  fields.emplace_back("of a later version");
  EXPECT_EQ(record_of<SignatureRecord>(fields).sm_count, 132);
  fields.resize(fields.size() - 2);
  EXPECT_THROW(static_cast<void>(record_of<SignatureRecord>(fields)), std::invalid_argument);
  fields.emplace_back("-2");
  EXPECT_THROW(static_cast<void>(record_of<SignatureRecord>(fields)), std::invalid_argument);
  EXPECT_EQ(line_of(NoteRecord{.text = "abcdef"}, 3), "note\tabc\n");
}

/// As processes wrote it before lines were made of records.
TEST(AttachCollect, ReadsARecordedLog) {
  const auto folder = std::filesystem::temp_directory_path() / "occbench-attach-recorded";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "process-7-0.txt")
      << "process\t11\t7\t1\t13000\tprogram \n"
         "device\t0\tFake "
         "H100\tGPU-42\t9\t0\t132\t32\t1024\t2048\t32\t65536\t65536\t49152\t232448\t233472\t1024\n"
         "function\t0\t0\t40\t16\t8\t1024\t90\tlatency_k\n"
         "signature\t0\t0\t21120\t2\t1\t256\t1\t1\t512\t6\t57dcee27a9a684da\t0\tforward\t0\t\t\t-1\t132\n"
         "level\t0\t2\t38016\t5\n"
         "version\t0\t3\t32\t31\t4\t8\n"
         "later\tof another kind\n"
         "timing\tactivity\t\n"
         "counters\t0\t3\t30,30,30,30,30,0\t3,6,0,0,0,0\n"
         "counters\t0\t1\t10,10,10,10,10,0\t1,2,0,0,0,0\n"
         "step\t5000000000\t2000000\ttrain\n"
         "note\ta sentence\n"
         "cut of";
  {
    std::ofstream counts(folder / "process-7-0.counts", std::ios::binary);
    // Full::no, launching for 3 s; launches, captured, changed
    const std::uint64_t first[] = {0, 3'000'000'000, 30, 2, 1};
    counts.write(reinterpret_cast<const char*>(first), sizeof first);
  }
  std::filesystem::resize_file(folder / "process-7-0.counts", sizeof(Counts));
  std::ofstream(folder / "process-7-0.launches");
  const Collected all = collect(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(all.complaints, std::vector<std::string>{"process-7-0: a sentence"});
  EXPECT_EQ(all.processes.at(0).command, "program ");
  EXPECT_EQ(all.processes[0].timing, "activity");
  EXPECT_EQ(all.time.launching_s, 3);
  EXPECT_EQ(all.devices.at(0).sm.smem_reserved_per_block_bytes, 1024U);
  const Kernel& k = all.kernels.at(0);
  EXPECT_EQ(std::tuple(k.name, k.grid[1], k.footprint.dynamic_smem_bytes, k.local_bytes, k.blocks_per_sm,
                       k.range, k.sms),
            std::tuple(std::string("latency_k"), 2U, std::size_t{512}, 8, 6, std::string("forward"), 132));
  EXPECT_EQ(std::tuple(k.launches, k.captured, k.changed), std::tuple(30U, 2U, 1U));
  EXPECT_EQ(k.arms.at(2).added_smem_bytes, 38'016U);
  EXPECT_EQ(k.versions.at(3).cap, 32);
  EXPECT_EQ(k.counted.samples, 4U);
  EXPECT_NEAR(*k.counted.share(l2), 0.2, 1e-9);
  EXPECT_FALSE(k.counted.share(issue));
  EXPECT_EQ(std::tuple(all.steps.at(0).range, all.steps[0].begin_s), std::tuple(std::string("train"), 5.0));
}

}  // namespace
TEST(AttachFlatMap, KeepsWhatItWasGiven) {
  std::vector<int> values(5'000);
  FlatMap<int> map;
  EXPECT_EQ(map.find(7), nullptr);
  // Hashes of any kind: the same in their low bits, the highest, 0.
  const auto key = [](std::size_t i) { return i % 3 == 0 ? i << 40 : i % 3 == 1 ? ~i : i; };
  for (std::size_t i = 0; i < values.size(); ++i) map.add(key(i), &values[i]);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(map.find(key(i)), &values[i]);
  EXPECT_EQ(map.find(std::uint64_t{1} << 39), nullptr);
  map.clear();
  EXPECT_EQ(map.find(key(1)), nullptr);
}

}  // namespace occbench::attach
