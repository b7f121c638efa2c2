// SPDX-License-Identifier: Apache-2.0
// CUPTI's records: their layout, kernels that overlap, and schedules that restart.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "harness/attach/preload/counter_sums.hpp"
#include "harness/attach/preload/cupti.hpp"
#include "harness/attach/preload/cupti_sampling.hpp"
#include "harness/attach/preload/overlap.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/schedule.hpp"

#if __has_include(<cupti.h>)
#include <cupti.h>
#endif
#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#endif

namespace occbench::attach {
namespace {

#if __has_include(<cupti.h>) && CUPTI_API_VERSION >= 130000
using Newest = CUpti_ActivityKernel10;
#define OCCBENCH_SAME(ours, theirs) \
  static_assert(offsetof(cupti::KernelRecord, ours) == offsetof(Newest, theirs))
OCCBENCH_SAME(kind, kind);
OCCBENCH_SAME(start, start);
OCCBENCH_SAME(end, end);
OCCBENCH_SAME(device, deviceId);
OCCBENCH_SAME(correlation, correlationId);
OCCBENCH_SAME(name, name);
OCCBENCH_SAME(smem_executed, sharedMemoryExecuted);
OCCBENCH_SAME(graph_node, graphNodeId);
OCCBENCH_SAME(graph, graphId);
static_assert(offsetof(cupti::CallbackData, correlation) == offsetof(CUpti_CallbackData, correlationId));
static_assert(cupti::kernels == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && cupti::success == CUPTI_SUCCESS &&
              cupti::not_initialized == CUPTI_ERROR_NOT_INITIALIZED &&
              cupti::multiple_subscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
              cupti::driver_domain == CUPTI_CB_DOMAIN_DRIVER_API && cupti::on_enter == CUPTI_API_ENTER &&
              cupti::forced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

TEST(AttachRecords, LaunchCallsMatchTheCuptiCallbackIds) {
  const std::vector<std::uint32_t> expected = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                               CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                               CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                               CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                                               CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
                                               CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
                                               CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                               CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz};
  EXPECT_EQ(std::vector<std::uint32_t>(std::begin(cupti::launch_calls), std::end(cupti::launch_calls)),
            expected);
}
#endif

#if __has_include(<cupti_pmsampling.h>)
#define OCCBENCH_SIZE(Ours, Theirs) \
  static_assert(sizeof(cupti::Ours) - cupti::Ours::padding == Theirs##_STRUCT_SIZE)
OCCBENCH_SIZE(Initialize, CUpti_Profiler_Initialize_Params);
OCCBENCH_SIZE(GetChipName, CUpti_Device_GetChipName_Params);
OCCBENCH_SIZE(HostInitialize, CUpti_Profiler_Host_Initialize_Params);
OCCBENCH_SIZE(HostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
OCCBENCH_SIZE(HostAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
OCCBENCH_SIZE(HostGetConfigSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
OCCBENCH_SIZE(HostGetConfig, CUpti_Profiler_Host_GetConfigImage_Params);
OCCBENCH_SIZE(HostGetPasses, CUpti_Profiler_Host_GetNumOfPasses_Params);
OCCBENCH_SIZE(HostEvaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
OCCBENCH_SIZE(SamplingEnable, CUpti_PmSampling_Enable_Params);
OCCBENCH_SIZE(SamplingDisable, CUpti_PmSampling_Disable_Params);
OCCBENCH_SIZE(SamplingStart, CUpti_PmSampling_Start_Params);
OCCBENCH_SIZE(SamplingStop, CUpti_PmSampling_Stop_Params);
OCCBENCH_SIZE(SamplingConfigure, CUpti_PmSampling_SetConfig_Params);
OCCBENCH_SIZE(SamplingGetDataSize, CUpti_PmSampling_GetCounterDataSize_Params);
OCCBENCH_SIZE(SamplingClearData, CUpti_PmSampling_CounterDataImage_Initialize_Params);
OCCBENCH_SIZE(SamplingDecode, CUpti_PmSampling_DecodeData_Params);
OCCBENCH_SIZE(SamplingGetDataInfo, CUpti_PmSampling_GetCounterDataInfo_Params);
OCCBENCH_SIZE(SamplingGetSample, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
static_assert(cupti::hardware_busy == static_cast<int>(CUPTI_ERROR_HARDWARE_BUSY) &&
              cupti::not_supported == static_cast<int>(CUPTI_ERROR_NOT_SUPPORTED) &&
              cupti::insufficient_privileges == static_cast<int>(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) &&
              cupti::mig_device == static_cast<int>(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED) &&
              cupti::unknown_chip == static_cast<int>(CUPTI_ERROR_INVALID_CHIP_NAME) &&
              cupti::of_pm_sampling == static_cast<int>(CUPTI_PROFILER_TYPE_PM_SAMPLING) &&
              cupti::every_time == static_cast<int>(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL) &&
              cupti::counter_data_full ==
                  static_cast<int>(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL));
#endif

constexpr std::uint64_t us = 1000;

/// Samples of 10 us up to 1 ms, at half of each peak but one's.
std::vector<PmSample> made_up_samples() {
  std::vector<PmSample> samples;
  for (std::uint64_t at = 0; at < 1000 * us; at += 10 * us) {
    PmSample& s = samples.emplace_back(PmSample{.start_ns = at, .end_ns = at + 10 * us, .shares = {}});
    s.shares.fill(0.5);
    s.shares[tensor] = std::numeric_limits<double>::quiet_NaN();  // of another set
  }
  return samples;
}

TEST(AttachCounters, ExcludesSamplesAtTheEdgesNextToOtherKernels) {
  SumsOfSignatures sums;
  add_samples(made_up_samples(),
              {{5 * us, 57 * us, 7},   // from 0, 10, 20, 30 and 40
               {57 * us, 85 * us, 8},  // short of a whole sample and the error at both ends
               {85 * us, 134 * us, CountedRun::none},
               {130 * us, 200 * us, 9},  // from 140, 150, 160, 170 and 180
               {205 * us, 225 * us, 7},  // from 210 and, with the next, 220
               {230 * us, 256 * us, 7},  // from 230 and 240
               {260 * us, 2000 * us, CountedRun::none}},
              sums);
  ASSERT_EQ(sums.size(), 2U);
  const CounterSums &seven = sums.at(7).seen, &nine = sums.at(9).seen;
  EXPECT_EQ(seven.samples, 9U);
  EXPECT_EQ(seven.ns[dram], (5 + 4 * 10 + 10 + 5 + 10 + 10) * us);
  EXPECT_EQ(seven.share_ns[dram], 45 * us);
  EXPECT_EQ(nine.samples, 5U);
  EXPECT_EQ(nine.ns[dram], 50 * us);
  EXPECT_EQ(nine.share_ns[dram], 25 * us);
  EXPECT_EQ(nine.ns[tensor], 0);
  // In step with its start and its end: all of it.
  EXPECT_EQ(sums.at(9).whole.ns[dram], 70 * us);
}

TEST(AttachCounters, CountsAnIsolatedRunWhole) {
  SumsOfSignatures sums;
  add_samples(made_up_samples(), {{104 * us, 107 * us, 7}, {333 * us, 357 * us, 8}, {357 * us, 360 * us, 8}},
              sums);
  ASSERT_EQ(sums.size(), 2U);
  for (const CounterSums& of : {sums.at(7).seen, sums.at(7).whole}) {
    // All that the sample saw, and its neighbours within the error: the clocks may differ by that.
    EXPECT_EQ(of.samples, 1U);
    EXPECT_EQ(of.ns[dram], 3 * us);
    EXPECT_EQ(of.share_ns[dram], (5 + 5 + 5) * us);
  }
  EXPECT_EQ(sums.at(8).seen.samples, 3U);
  EXPECT_EQ(sums.at(8).seen.ns[dram], 27 * us);
}

/// Kernels in turn without a gap, sampled every 10 us at a phase of its own. Both are at their peak but in
/// their first and last 8 us, in which they do nothing.
SumsOfSignatures sums_in_turn(const std::vector<std::uint64_t>& lengths_us) {
  SumsOfSignatures sums;
  std::vector<CountedRun> runs;
  std::vector<double> at_peak;  // by us
  for (std::uint64_t at = 0; at < 20'000; at = runs.back().end_ns / us) {
    const std::size_t signature = runs.size() % lengths_us.size();
    const std::uint64_t length = lengths_us[signature];
    runs.push_back({at * us, (at + length) * us, signature});
    for (std::uint64_t i = 0; i < length; ++i) at_peak.push_back(i < 8 || length - i <= 8 ? 0 : 1);
  }
  std::vector<PmSample> samples;
  for (std::uint64_t at = 3; at + 10 < at_peak.size(); at += 10) {
    PmSample& s = samples.emplace_back(PmSample{.start_ns = at * us, .end_ns = (at + 10) * us, .shares = {}});
    s.shares.fill(std::accumulate(&at_peak[at], &at_peak[at + 10], 0.0) / 10);
  }
  add_samples(samples, runs, sums);
  return sums;
}

TEST(AttachCounters, WholeCountersOfAlternatingKernelsCoverTheRamps) {
  const SumsOfSignatures sums = sums_in_turn({51, 93, 22});
  const auto share = [](const CounterSums& of) { return of.share_ns[dram] / of.ns[dram]; };
  EXPECT_GT(share(sums.at(0).seen), 0.95) << "the middle alone";
  EXPECT_NEAR(share(sums.at(0).whole), 35.0 / 51, 0.03);
  EXPECT_NEAR(share(sums.at(1).whole), 77.0 / 93, 0.03);
  EXPECT_NEAR(share(sums.at(2).whole), 6.0 / 22, 0.05) << "two samples resolve no more";
}

TEST(AttachCounters, MergesConsecutiveKernelsOfAGraph) {
  std::vector<CountedRun> runs;
  add_run(runs, {10, 20, 1}, true);  // the first of all
  add_run(runs, {25, 40, 1}, true);
  add_run(runs, {45, 50, 1}, false);  // behind another's
  add_run(runs, {60, 70, 2}, true);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(std::pair(runs[0].start_ns, runs[0].end_ns), std::pair(std::uint64_t{10}, std::uint64_t{40}));
}

KernelRun ran(std::uint32_t number, std::uint64_t start, std::uint64_t end, std::uint32_t device = 0) {
  return {.correlation = number, .device = device, .start_ns = start, .end_ns = end};
}

/// Numbers of those that overlap, of batches that come one after the other.
std::vector<std::uint32_t> overlapping(const std::vector<std::vector<KernelRun>>& batches) {
  Overlaps overlaps;
  std::map<std::uint32_t, bool> found;
  const auto note = [&](const std::vector<KernelRun>& records) {
    for (const KernelRun& r : records) EXPECT_TRUE(found.emplace(r.correlation, r.is_overlapped).second);
  };
  std::size_t given = 0;
  for (const std::vector<KernelRun>& batch : batches) {
    note(overlaps.add(batch));
    given += batch.size();
  }
  note(overlaps.add({}));
  EXPECT_EQ(found.size(), given);
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, is_overlapped] : found)
    if (is_overlapped) numbers.push_back(number);
  return numbers;
}

using Numbers = std::vector<std::uint32_t>;

TEST(AttachOverlaps, BackToBackKernelsDoNotOverlap) {
  EXPECT_EQ(overlapping({{ran(1, 0, 10), ran(2, 10, 20), ran(3, 25, 30)}}), Numbers());
  EXPECT_EQ(overlapping({{ran(1, 0, 10)}, {ran(2, 10, 20)}, {ran(3, 25, 30)}}), Numbers());
}

TEST(AttachOverlaps, ReportsConcurrentKernels) {
  EXPECT_EQ(overlapping({{ran(1, 0, 11), ran(2, 10, 20), ran(3, 25, 30)}}), Numbers({1, 2}));
  EXPECT_EQ(overlapping({{ran(1, 0, 100), ran(2, 10, 20), ran(3, 25, 30), ran(4, 100, 110)}}),
            Numbers({1, 2, 3}));
}

TEST(AttachOverlaps, FindsOverlapsAcrossRecordBatches) {
  EXPECT_EQ(overlapping({{ran(2, 10, 20), ran(3, 25, 30)}, {ran(1, 0, 28), ran(4, 40, 50)}}),
            Numbers({1, 2, 3}));
}

TEST(AttachOverlaps, IgnoresKernelsOfOtherDevices) {
  EXPECT_EQ(overlapping({{ran(1, 0, 100), ran(2, 10, 20, 1), ran(3, 15, 30, 1)}}), Numbers({2, 3}));
}

TEST(AttachSchedule, ResamplesAfterARestart) {
  Schedule schedule({.seed = 3, .precision = 0.5, .warm_up = 1}, 77, {1, 1, 0.5, 0.25});
  Budget budget(100);
  const auto run = [&](double time_us) {
    std::map<int, int> of_arm;
    for (int n = 0; n < 100; ++n) {
      const auto draw = schedule.next(budget);
      if (draw.of_block) ++of_arm[draw.arm];
      if (draw.arm == first_level + 1)
        schedule.refuse(draw, budget, true);
      else
        schedule.add_time(draw, time_us, budget);
    }
    return of_arm;
  };
  run(100);
  EXPECT_TRUE(schedule.is_known());
  schedule.restart();
  EXPECT_FALSE(schedule.is_known());
  EXPECT_EQ(schedule.natural_us(), 0);
  const auto again = run(103);
  EXPECT_EQ(schedule.natural_us(), 103);
  EXPECT_TRUE(schedule.is_known());
  EXPECT_GE(again.at(untouched), 6);
  EXPECT_GE(again.at(first_level), 6);
  EXPECT_FALSE(again.contains(first_level + 1));  // it is closed for good
}

TEST(AttachArguments, HashIgnoresOnlyPointerArguments) {
  const auto hash = [](std::uint64_t first, std::uint64_t second) {
    void* parameters[] = {&first, &second};
    Request request;
    request.parameters = parameters;
    return argument_hash(request, {{.offset = 0, .size = 8}, {.offset = 8, .size = 8}});
  };
  constexpr std::uint64_t address = 0x7f0012345600, other = 0x7f00deadbe00, minus_one = ~std::uint64_t{0};
  EXPECT_EQ(hash(address, other), 0U);  // which means no words, or too many kinds of them
  EXPECT_EQ(hash(address, 7), hash(other, 7));
  for (const std::uint64_t word : {minus_one, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}}) {
    EXPECT_NE(hash(address, word), 0U);
    EXPECT_NE(hash(word, 7), hash(address, 7));
    EXPECT_NE(hash(word, word), 0U);
  }
  EXPECT_NE(hash(1, 2), hash(2, 1));
}

}  // namespace
}  // namespace occbench::attach
