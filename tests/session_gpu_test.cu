// SPDX-License-Identifier: Apache-2.0
// The session with a family of its own whose time, result and faults are known beforehand.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "harness/device/instruments.hpp"
#include "harness/measure/session.hpp"
#include "harness/record/environment.hpp"
#include "kernels/family.cuh"

namespace occbench {
namespace spin {

struct Parameters {
  float* output;  ///< one per thread
  std::uint64_t duration_ns;
  float value;
  bool trap;
  bool own;  ///< the value is the thread's own time: another in each launch
};

struct Body {
  using Parameters = spin::Parameters;
  static __device__ void run(const Parameters& p) {
    const std::uint64_t begin = device::global_timer_ns();
    while (device::global_timer_ns() - begin < p.duration_ns) {
    }
    if (p.trap) asm volatile("trap;");
    p.output[device::thread_index()] = p.own ? static_cast<float>(begin % 1'000'000) : p.value;
  }
};

constexpr std::int64_t timed_iterations = 1000;  // one microsecond each: the timed launch takes 1 ms

/// What is wrong with a launch as long as the timed one; the short one is correct.
enum class Fault { none, trap, value, no_repeat };

/// Every thread is to write 1. `value` is what it writes. `reaches`: the reference knows the timed launch.
void add(const char* name, float value, Fault fault = Fault::none, bool reaches = false) {
  add_variant({
      .family = "spin",
      .name = name,
      .ceiling = Ceiling::fp32,
      .iteration = {.flop = 1, .latency_cycles = 1500},
      .l2_before = L2::warm,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            const Fault now = shape.iterations >= timed_iterations ? fault : Fault::none;
            problem.set_parameters(
                Parameters{arena.output<float>(), static_cast<std::uint64_t>(shape.iterations) * 1000,
                           now == Fault::value ? 3 : value, now == Fault::trap, now == Fault::no_repeat});
            problem.reference_covers_timed = reaches;
            problem.work = {.flop = static_cast<double>(shape.threads())};
            problem.poison = [&arena, shape] {
              arena.poison_output(static_cast<std::size_t>(shape.threads()) * sizeof(float));
            };
            problem.mismatch = [&arena, shape] {
              return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()), 1e-6,
                                                 [](std::size_t) { return 1.0; });
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Body>),
  });
}

const Registration registered{[] {
  add("right", 1);
  add("right-reference", 1, Fault::none, true);
  add("wrong", 2);
  add("wrong-late", 1, Fault::value, true);
  add("unlike", 1, Fault::no_repeat);
  add("faulty", 1, Fault::trap);
}};

}  // namespace spin

namespace {

class SessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (enumerate_devices().empty()) return;
    session_ = std::make_unique<Session>(
        open_device(""), Precision{.samples_per_round = 4, .min_rounds = 2, .max_rounds = 3}, 1);
  }
  static void TearDownTestSuite() { session_.reset(); }
  void SetUp() override {
    if (!session_) GTEST_SKIP() << "needs a GPU";
  }

  static Case planned(const std::string& variant, int block_size, int resident_blocks = 0) {
    const auto found = std::ranges::find(variants(), variant, &Variant::name);
    Case c = resolve({.experiment = "test",
                      .variant = &*found,
                      .block_size = block_size,
                      .resident_blocks = resident_blocks},
                     session_->device(), session_->arena(), 1e-3);
    EXPECT_EQ(c.status, Status::valid) << c.id << ": " << c.reason;
    c.iterations = spin::timed_iterations;
    return c;
  }

  /// The results in the order in which they are reported; `results_` has them even when measuring throws.
  const std::vector<CaseResult>& measure(const std::vector<Case>& group) {
    session_->measure(
        group, 0,
        [&](const CaseResult& result, std::span<const SampleRow> samples) {
          results_.push_back(result);
          const bool is_noisy = result.planned.status == Status::noisy;
          EXPECT_EQ(samples.size(), is_noisy ? 0 : result.samples + result.discarded) << result.planned.id;
          if (stop_after_first_) stop_ = true;
        },
        stop_);
    return results_;
  }
  const CaseResult& result_of(const Case& c) const {
    return *std::ranges::find(results_, c.id, [](const CaseResult& r) { return r.planned.id; });
  }

  static std::unique_ptr<Session> session_;
  std::vector<CaseResult> results_;
  std::atomic<bool> stop_ = false;
  bool stop_after_first_ = false;
};
std::unique_ptr<Session> SessionTest::session_;

using SessionOnDevice = SessionTest;
using SessionClock = SessionTest;
using SessionFaults = SessionTest;

TEST_F(SessionOnDevice, SkipsUnsupportedComputeCapabilities) {
  Variant newer = *std::ranges::find(variants(), "right", &Variant::name);
  newer.min_cc = 90;
  const auto on = [&](int major, int minor, bool only_this_cc) {
    newer.only_this_cc = only_this_cc;
    Device device = session_->device();
    device.sm.cc_major = major;
    device.sm.cc_minor = minor;
    return resolve({.experiment = "test", .variant = &newer, .block_size = 64}, device, session_->arena(),
                   1e-3);
  };
  EXPECT_EQ(on(8, 9, false).status, Status::skipped);
  EXPECT_EQ(on(8, 9, false).reason, "needs compute capability 9.0 or later; this device has 8.9");
  EXPECT_EQ(on(9, 0, true).status, Status::valid);
  EXPECT_EQ(on(10, 0, false).status, Status::valid);
  EXPECT_EQ(on(10, 0, true).reason, "needs compute capability 9.0 and no other; this device has 10.0");
}

TEST_F(SessionOnDevice, ResidentClustersMatchTheQuery) {
  if (session_->device().max_blocks_per_cluster == 0) GTEST_SKIP() << "needs a GPU with clusters";
  const Variant& right = *std::ranges::find(variants(), "right", &Variant::name);
  std::vector<Case> group;
  for (const int size : {2, 8}) {
    group.push_back(resolve({.experiment = "test",
                             .variant = &right,
                             .block_size = 1024,
                             .resident_blocks = 1,
                             .cluster_size = size},
                            session_->device(), session_->arena(), 1e-3));
    ASSERT_EQ(group.back().status, Status::valid) << group.back().reason;
    group.back().iterations = spin::timed_iterations;
  }
  for (const CaseResult& r : measure(group)) {
    EXPECT_EQ(r.planned.status, Status::valid) << r.planned.id << ": " << r.planned.reason;
    EXPECT_GT(r.planned.active_clusters, 0);
    EXPECT_EQ(r.clusters_resident, r.planned.active_clusters) << r.planned.id;
  }
}

TEST_F(SessionClock, HalfAWaveLeavesHalfOfTheSlotsUnused) {
  Case c = planned("right", 256, 4);
  c.launch.grid_size = c.wave_blocks / 2;
  ASSERT_EQ(measure({c}).size(), 1u);
  ASSERT_EQ(results_[0].planned.status, Status::valid) << results_[0].planned.reason;
  ASSERT_TRUE(results_[0].slot_time.has_value());
  const SlotTime& t = *results_[0].slot_time;
  const double theory = c.occupancy.fraction;
  EXPECT_NEAR(t.unused, theory / 2, 1e-12);
  EXPECT_NEAR(t.launch + t.ramp + t.turnover + t.tail + t.imbalance + t.unused, theory, 1e-12);
  EXPECT_LE(t.launch, t.resident);
  EXPECT_LE(t.resident, theory / 2 + 1e-12);
}

TEST_F(SessionClock, EnergyIsPowerTimesTime) {
  if (!nvml::EnergyCounter(session_->device().uuid).joules())
    GTEST_SKIP() << "needs a GPU that counts its energy";
  Case c = planned("right", 256);
  c.spec.energy = true;
  const auto& results = measure({c});
  ASSERT_TRUE(results.front().energy.has_value());
  const Energy& energy = *results.front().energy;
  EXPECT_GT(energy.power_w, 5);
  EXPECT_LT(energy.power_w, 2000);
  // 1 ms of spinning a launch, and what lies between launches
  EXPECT_GT(energy.per_launch_j / energy.power_w, 0.95e-3);
  EXPECT_LT(energy.per_launch_j / energy.power_w, 1.05e-3);
}

TEST_F(SessionOnDevice, CensusEqualsTheoryAndApi) {
  std::vector<Case> group;
  for (const int block_size : {32, 96, 256, 768, 1024}) group.push_back(planned("right", block_size));
  for (const auto& [block_size, blocks] : {std::pair(64, 1), {64, 7}, {256, 3}, {512, 2}, {1024, 1}})
    group.push_back(planned("right", block_size, blocks));
  ASSERT_EQ(measure(group).size(), group.size());
  for (const CaseResult& r : results_) {
    EXPECT_EQ(r.planned.status, Status::valid) << r.planned.id << ": " << r.planned.reason;
    EXPECT_EQ(r.blocks_per_sm_api, r.planned.occupancy.blocks_per_sm) << r.planned.id;
    EXPECT_EQ(r.blocks_per_sm_resident, r.planned.occupancy.blocks_per_sm) << r.planned.id;
  }
}

TEST_F(SessionOnDevice, WrongResultInvalidatesOnlyItsCase) {
  const Case wrong = planned("wrong", 256);
  ASSERT_EQ(measure({planned("right", 128), wrong, planned("right", 512)}).size(), 3u);
  EXPECT_EQ(result_of(wrong).planned.status, Status::invalid);
  EXPECT_EQ(result_of(wrong).planned.reason, "wrong result: element 0 of " +
                                                 std::to_string(wrong.shape(1).threads()) +
                                                 " is 2, the CPU reference says 1");
  EXPECT_EQ(result_of(wrong).samples, 0u);
  EXPECT_EQ(std::ranges::count(results_, Status::valid, [](const CaseResult& r) { return r.planned.status; }),
            2);
}

TEST_F(SessionOnDevice, VerifiesLaunchesAsLongAsTheTimedOnes) {
  const Case late = planned("wrong-late", 128);
  const Case unlike = planned("unlike", 128);
  const Case reference = planned("right-reference", 128);
  const Case repeat = planned("right", 128);
  measure({late, unlike, reference, repeat});
  EXPECT_EQ(result_of(late).planned.status, Status::invalid);
  EXPECT_NE(
      result_of(late).planned.reason.find("is 3, the CPU reference says 1 (in a launch of 1000 iterations"),
      std::string::npos)
      << result_of(late).planned.reason;
  EXPECT_EQ(result_of(unlike).planned.status, Status::invalid);
  EXPECT_NE(result_of(unlike).planned.reason.find("do not agree bit by bit"), std::string::npos);
  EXPECT_EQ(result_of(reference).planned.status, Status::valid) << result_of(reference).planned.reason;
  EXPECT_EQ(result_of(reference).verified, "reference");
  EXPECT_EQ(result_of(repeat).planned.status, Status::valid) << result_of(repeat).planned.reason;
  EXPECT_EQ(result_of(repeat).verified, "repeat");
}

TEST_F(SessionOnDevice, ReturnsImpossibleCasesUnchanged) {
  Case impossible = planned("right", 256);
  impossible.status = Status::impossible;
  impossible.reason = "for a reason";
  ASSERT_EQ(measure({impossible}).size(), 1u);
  EXPECT_EQ(results_[0].planned.status, Status::impossible);
  EXPECT_EQ(results_[0].planned.reason, "for a reason");
}

TEST_F(SessionOnDevice, StopsBeforeTheFirstCase) {
  stop_ = true;
  EXPECT_TRUE(measure({planned("right", 256)}).empty());
}

TEST_F(SessionOnDevice, StopsBetweenVisits) {
  stop_after_first_ = true;
  EXPECT_EQ(measure({planned("right", 64), planned("right", 128), planned("right", 256)}).size(), 1u);
}

TEST_F(SessionOnDevice, StopBeforeEnergyWritesNoRow) {
  stop_after_first_ = true;
  std::vector<Case> group{planned("right", 64), planned("right", 128)};
  for (Case& c : group) c.spec.energy = true;
  EXPECT_EQ(measure(group).size(), 1u);
}

TEST_F(SessionOnDevice, CountersFollowTimingOrGiveAReason) {
  Session counting(session_->device(), session_->precision(), 1, {.occupancy = true, .stalls = true});
  const std::vector<Case> group{planned("right", 1024), planned("wrong", 256), planned("right", 64, 4)};
  for (int repetition = 0; repetition < 2; ++repetition) {
    results_.clear();
    counting.measure(
        group, repetition, [&](const CaseResult& r, std::span<const SampleRow>) { results_.push_back(r); },
        stop_);
    ASSERT_EQ(results_.size(), group.size());
    EXPECT_EQ(result_of(group[1]).counts.status, "off");  // it has no time either
    for (const Case& c : {group[0], group[2]}) {
      const CaseResult& r = result_of(c);
      EXPECT_EQ(r.planned.status, Status::valid) << r.planned.reason;
      EXPECT_GT(r.samples, 0u);
      if (repetition > 0) {  // its row stands
        EXPECT_EQ(r.counts.status, "off");
      } else if (r.counts.status == "ok") {  // all warps spin for one and the same millisecond
        EXPECT_NEAR(r.counts.occupancy.value(), c.occupancy.fraction, 0.02);
        EXPECT_NE(r.counts.stalls, "");
      } else {
        EXPECT_FALSE(r.counts.occupancy);
        EXPECT_GT(r.counts.status.size(), 10u) << r.counts.status;
      }
    }
  }
}

TEST_F(SessionOnDevice, EnvironmentMatchesTheSchema) {
  const auto environment = occbench::environment(*session_, {.preset = "quick"});
  const auto schema = nlohmann::json::parse(std::ifstream("results/schema.json"));
  std::set<std::string> known;
  for (const auto& field : schema["files"]["env.json"]["fields"]) {
    known.insert(field["name"]);
    ASSERT_TRUE(environment.contains(field["name"])) << field["name"];
    EXPECT_TRUE(field["nullable"] || !environment[field["name"].get<std::string>()].is_null())
        << field["name"];
    if (field.contains("fields"))
      for (const auto& inner : field["fields"])
        EXPECT_TRUE(environment[field["name"].get<std::string>()].contains(inner["name"])) << inner["name"];
  }
  for (const auto& [name, value] : environment.items()) EXPECT_TRUE(known.contains(name)) << name;
}

TEST_F(SessionClock, MeasuresAKnownMillisecondWithin2Percent) {
  const Case c = planned("right", 1024);
  ASSERT_EQ(measure({c}).size(), 1u);
  const CaseResult& r = results_[0];
  ASSERT_EQ(r.planned.status, Status::valid) << r.planned.reason;
  EXPECT_NEAR(r.time_s.median, 1e-3, 0.02e-3);
  EXPECT_GT(r.sm_clock_hz, 0.3e9);
  EXPECT_LT(r.sm_clock_hz, 3e9);
  EXPECT_GT(r.samples, 0u);
}

TEST_F(SessionClock, EmptyLaunchTakesMicroseconds) {
  EXPECT_GT(session_->empty_launch_s(), 0);
  EXPECT_LT(session_->empty_launch_s(), 20e-6);
}

TEST_F(SessionClock, TimesAreMultiplesOfTheTimerStep) {
  const double step_s = session_->references()->timer_step_s;
  EXPECT_GE(step_s, 1e-9);
  EXPECT_LT(step_s, 1e-6);
  EXPECT_NEAR(std::remainder(session_->empty_launch_s(), step_s / 2), 0, 1e-10);  // /2: the mean of two
}

/// The other process of the next test, until it is killed.
TEST(BusyProcess, DISABLED_KeepsTheSmsBusy) {
  const Stream stream;
  const int blocks = 2 * open_device("").sm.sm_count;
  DeviceBuffer<unsigned long long> cycles(static_cast<std::size_t>(blocks));
  for (bool is_announced = false;; is_announced = true) {
    for (int i = 0; i < 8; ++i) instruments::load_sms(cycles.data(), blocks, stream.get());
    stream.synchronize();
    if (!is_announced) std::ofstream(std::getenv("OCCBENCH_AT_WORK")) << "at work\n";
  }
}

/// Another process that runs that test of this program, from its first launch on.
class BusyProcess {
 public:
  BusyProcess() {
    std::string sign = "OCCBENCH_AT_WORK=" + sign_.string();
    std::vector<char*> environment{sign.data()};
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    environment.push_back(nullptr);
    std::array<std::string, 3> words = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                        "--gtest_filter=BusyProcess.DISABLED_KeepsTheSmsBusy"};
    std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    if (posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environment.data()) != 0)
      throw std::runtime_error("this program cannot be started again");
    while (!std::filesystem::exists(sign_) && waitpid(pid_, nullptr, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ~BusyProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove(sign_);
  }
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  std::filesystem::path sign_ =
      std::filesystem::temp_directory_path() / ("occbench-busy-" + std::to_string(getpid()));
  pid_t pid_ = -1;
};

TEST_F(SessionClock, DetectsAnotherBusyProcess) {
  const Case c = planned("right", 1024);
  {
    const BusyProcess other;
    measure({c});
    ASSERT_EQ(results_.size(), 1u);
    EXPECT_EQ(results_[0].planned.status, Status::noisy) << results_[0].planned.reason;
    EXPECT_NE(results_[0].planned.reason.find("ran beside another process"), std::string::npos);
    EXPECT_GT(results_[0].discarded, 0u);
  }
  const std::size_t disturbed = session_->disturbance()->disturbed_probes;
  EXPECT_GT(disturbed, 0u);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // until the driver has cleaned up
  measure({planned("right", 64)});                       // its first launches follow the last disturbed probe
  results_.clear();
  measure({c});
  EXPECT_EQ(results_[0].planned.status, Status::valid) << results_[0].planned.reason;
  EXPECT_EQ(session_->disturbance()->disturbed_probes, disturbed);
}

TEST_F(SessionFaults, FailedLaunchInvalidatesOnlyItsCase) {
  Case too_much = planned("right", 256);
  too_much.launch.dynamic_smem_bytes = std::size_t{1} << 20;
  Case too_many = planned("right", 512);
  too_many.launch.block_size = 2048;
  ASSERT_EQ(measure({too_much, planned("right", 64), too_many, planned("right", 128)}).size(), 4u);
  for (const Case& c : {too_much, too_many}) {
    EXPECT_EQ(result_of(c).planned.status, Status::invalid) << c.id;
    EXPECT_NE(result_of(c).planned.reason.find("failed: cudaError"), std::string::npos)
        << result_of(c).planned.reason;
    EXPECT_EQ(result_of(c).samples, 0u);
  }
  EXPECT_EQ(std::ranges::count(results_, Status::valid, [](const CaseResult& r) { return r.planned.status; }),
            2);
}

TEST_F(SessionFaults,
       TrapEndsTheRunAfterWritingItsRow) {  // the last test of this process: its context is gone
  const Case faulty = planned("faulty", 256);
  try {
    measure({faulty, planned("right", 64)});
    FAIL() << "a trap went unnoticed";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), Exit::some_case_failed);
    EXPECT_NE(std::string(e.what()).find(faulty.id + " corrupted the CUDA context"), std::string::npos)
        << e.what();
  }
  ASSERT_FALSE(results_.empty());
  EXPECT_EQ(results_.back().planned.id, faulty.id);
  EXPECT_EQ(results_.back().planned.status, Status::invalid);
  EXPECT_NE(results_.back().planned.reason.find("cudaErrorLaunchFailure"), std::string::npos)
      << results_.back().planned.reason;
}

}  // namespace
}  // namespace occbench
