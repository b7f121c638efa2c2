// SPDX-License-Identifier: Apache-2.0
// Counters over a profiler that is made up: what is counted, in how many launches, and what is said where it
// cannot be.
#include "harness/measure/counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "harness/io/check.hpp"

namespace occbench {
namespace {

const std::string warps_active = "sm__warps_active.avg.pct_of_peak_sustained_active";
const std::string dram_read = "dram__bytes_read.sum";

std::string stalled(const std::string& reason) {
  return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio";
}

/// What the device would say, and what the profiler was asked.
struct Device {
  std::map<std::string, double> values;  ///< of metrics that do not read 1
  std::set<std::string> unknown;
  int passes = 3;       ///< 0: never enough
  std::string failing;  ///< the step that fails
  int result = 0;       ///< ... with this
  int opened = 0, held = 0, disabled = 0, begun = 0;
  std::vector<std::string> steps;
};

class Fake : public cupti::Profiler {
 public:
  explicit Fake(Device& device) : device_(device) { step("open"), ++device_.opened; }
  [[nodiscard]] std::string chip() const override { return "GX100"; }
  bool has_metric(const std::string& metric) override { return !device_.unknown.contains(metric); }
  void enable(const std::vector<std::string>& metrics) override {
    metrics_ = metrics;
    step("enable");
    ++device_.held;
  }
  void begin_pass() override {
    step("begin");
    ++device_.begun;
    ++pass_;
  }
  bool end_pass() override {
    step("end");
    return pass_ == device_.passes;
  }
  std::vector<double> values() override {
    step("values");
    pass_ = 0;
    std::vector<double> values;
    for (const std::string& metric : metrics_)
      values.push_back(device_.values.contains(metric) ? device_.values[metric] : 1);
    return values;
  }
  void disable() noexcept override {
    device_.held = 0;
    ++device_.disabled;
    pass_ = 0;
  }

 private:
  void step(const std::string& name) {
    device_.steps.push_back(name);
    if (device_.failing == name) throw cupti::Error(device_.result, name + " failed");
  }
  Device& device_;
  std::vector<std::string> metrics_;
  int pass_ = 0;
};

constexpr CounterGroups everything{.occupancy = true, .memory = true, .stalls = true};

class DeviceCounters : public testing::Test {
 protected:
  Counters counters(const CounterGroups& groups = everything) {
    return Counters(groups, [this] { return std::make_unique<Fake>(device_); });
  }
  Counts count(Counters& counters) {
    return counters.count([this] { device_.steps.push_back("prepare"); },
                          [this] { device_.steps.push_back("launch"); });
  }
  Device device_;
};

TEST_F(DeviceCounters, PreparesAndLaunchesOncePerPass) {
  device_.passes = 2;
  Counters c = counters();
  EXPECT_EQ(count(c).status, "ok");
  EXPECT_EQ(device_.steps, (std::vector<std::string>{"open", "enable", "prepare", "begin", "launch", "end",
                                                     "prepare", "begin", "launch", "end", "values"}));
}

TEST_F(DeviceCounters, FillsTheColumns) {
  device_.values = {{warps_active, 75},
                    {"sm__issue_active.avg.pct_of_peak_sustained_active", 40},
                    {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", 30},
                    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 20},
                    {dram_read, 5e9},
                    {"dram__bytes_write.sum", 4e9},
                    {"lts__t_bytes.sum", 9e9},
                    {"l1tex__t_bytes.sum", 8e9},
                    {stalled("long_scoreboard"), 4.126},
                    {stalled("wait"), 2},
                    {stalled("barrier"), 1.5}};
  Counters c = counters();
  const Counts counts = count(c);
  EXPECT_EQ(counts.status, "ok");
  EXPECT_DOUBLE_EQ(counts.occupancy.value(), 0.75);
  EXPECT_DOUBLE_EQ(counts.issue_active.value(), 0.4);
  EXPECT_DOUBLE_EQ(counts.fma_active.value(), 0.3);
  EXPECT_DOUBLE_EQ(counts.tensor_active.value(), 0.2);
  EXPECT_EQ(counts.dram_read_bytes, 5e9);
  EXPECT_EQ(counts.dram_write_bytes, 4e9);
  EXPECT_EQ(counts.l2_bytes, 9e9);
  EXPECT_EQ(counts.l1_bytes, 8e9);
  EXPECT_EQ(counts.stalls, "long_scoreboard 4.13; wait 2.00; barrier 1.50");
}

TEST_F(DeviceCounters, CollectsOnlyTheRequestedGroups) {
  Counters c = counters({.memory = true});
  const Counts counts = count(c);
  EXPECT_EQ(counts.status, "ok");
  EXPECT_TRUE(counts.dram_read_bytes);
  EXPECT_FALSE(counts.occupancy);
  EXPECT_EQ(counts.stalls, "");
}

TEST_F(DeviceCounters, NonFiniteMetricsAreEmptyCells) {
  device_.values[stalled("wait")] = std::numeric_limits<double>::quiet_NaN();
  device_.values[dram_read] = std::numeric_limits<double>::infinity();
  Counters c = counters();
  const Counts counts = count(c);
  EXPECT_EQ(counts.status, "ok");
  EXPECT_FALSE(counts.dram_read_bytes);
  EXPECT_EQ(counts.stalls.find("wait"), std::string::npos);
}

TEST_F(DeviceCounters, NamesMissingMetricsAndCollectsTheOthers) {
  device_.unknown = {dram_read, stalled("gmma")};  // a chip without a stall reason never stalls for it
  Counters c = counters();
  const Counts counts = count(c);
  EXPECT_EQ(counts.status, "GX100 has no " + dram_read);
  EXPECT_FALSE(counts.dram_read_bytes);
  EXPECT_TRUE(counts.dram_write_bytes);
  EXPECT_TRUE(counts.occupancy);
}

TEST_F(DeviceCounters, DoesNotProfileAChipWithoutTheMetrics) {
  device_.unknown = {dram_read, "dram__bytes_write.sum", "lts__t_bytes.sum", "l1tex__t_bytes.sum"};
  Counters c = counters({.memory = true});
  EXPECT_TRUE(count(c).status.starts_with("GX100 has no dram__bytes_read.sum, "));
  EXPECT_EQ(device_.begun, 0);
  EXPECT_EQ(device_.held, 0);
}

TEST_F(DeviceCounters, ReportsAChipWithoutStallReasons) {
  for (const char* reason :
       {"barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "membar",
        "mio_throttle", "misc", "long_scoreboard", "math_pipe_throttle", "no_instruction", "not_selected",
        "short_scoreboard", "sleeping", "tex_throttle", "wait"})
    device_.unknown.insert(stalled(reason));
  Counters c = counters({.stalls = true});
  EXPECT_EQ(count(c).status, "GX100 has no " + stalled("*"));
  EXPECT_EQ(device_.held, 0);
}

TEST_F(DeviceCounters, OpensOnceAndReleasesWhenIdle) {
  {
    Counters c = counters();
    EXPECT_EQ(device_.opened, 0);  // not before the first count
    for (int i = 0; i < 3; ++i) count(c);
    EXPECT_EQ(std::ranges::count(device_.steps, "enable"), 1);
    EXPECT_EQ(device_.held, 1);
    c.release();
    EXPECT_EQ(device_.held, 0);
    c.release();
    EXPECT_EQ(device_.disabled, 1);
    EXPECT_EQ(count(c).status, "ok");
    EXPECT_EQ(device_.held, 1);
  }
  EXPECT_EQ(device_.held, 0);
  EXPECT_EQ(device_.opened, 1);
}

TEST_F(DeviceCounters, WithoutGroupsNothingIsOpened) {
  Counters c = counters({});
  EXPECT_FALSE(c.is_enabled());
  c.release();
  EXPECT_EQ(device_.opened, 0);
  EXPECT_EQ(Counts{}.status, "off");
}

// --- Where they cannot be had

struct Refusal {
  const char* name;
  const char* step;
  int result;
  const char* says;
};
class CountersRefused : public DeviceCounters, public testing::WithParamInterface<Refusal> {};

/// Said once and for all: no later case asks again, and the device's counters are not held.
TEST_P(CountersRefused, ReportsTheReasonInEveryRowWithoutRetrying) {
  device_.failing = GetParam().step;
  device_.result = GetParam().result;
  Counters c = counters();
  const Counts first = count(c);
  EXPECT_TRUE(first.status.starts_with(GetParam().says)) << first.status;
  EXPECT_TRUE(first.status.ends_with(" (" + std::string(GetParam().step) + " failed)")) << first.status;
  EXPECT_EQ(first.status.find('\n'), std::string::npos);
  EXPECT_FALSE(first.occupancy);
  const auto steps = device_.steps;
  EXPECT_EQ(count(c).status, first.status);
  EXPECT_EQ(device_.steps, steps);
  EXPECT_EQ(device_.held, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Counters, CountersRefused,
    testing::Values(
        Refusal{"Permission", "enable", cupti::insufficient_privileges,
                "no permission to read counters: run as root"},
        Refusal{"Virtualised", "open", cupti::virtualized_device_not_supported, "virtualised GPU"},
        Refusal{"Hypervisor", "enable", cupti::virtualized_device_insufficient_privileges, "virtualised GPU"},
        Refusal{"Slice", "enable", cupti::mig_device_not_supported, "a MIG instance"},
        Refusal{"Disabled", "open", cupti::disabled, "another profiler is attached"},
        Refusal{"Busy", "enable", cupti::hardware_busy, "another profiler holds the counters"},
        Refusal{"Subscribed", "open", cupti::multiple_subscribers_not_supported,
                "another profiler is attached"},
        Refusal{"Missing", "open", cupti::library_missing, "CUPTI's library is missing"},
        Refusal{"TooOld", "open", cupti::library_too_old, "CUPTI's library is too old"},
        Refusal{"NoHeaders", "open", cupti::no_headers, "built without CUPTI"},
        Refusal{"Driver", "open", cupti::not_initialized, "CUPTI does not reach the driver"},
        Refusal{"Chip", "open", cupti::invalid_chip_name, "CUPTI does not know this GPU"},
        Refusal{"Unheard", "enable", 999, "CUPTI failed"}),
    [](const auto& refusal) { return std::string(refusal.param.name); });

class CountersFailingOnce : public DeviceCounters, public testing::WithParamInterface<const char*> {};

/// The next case begins afresh.
TEST_P(CountersFailingOnce, AffectsOnlyOneCase) {
  device_.failing = GetParam();
  device_.result = cupti::insufficient_privileges;
  Counters c = counters();
  EXPECT_TRUE(count(c).status.starts_with("no permission"));
  EXPECT_EQ(device_.held, 0);
  device_.failing.clear();
  EXPECT_EQ(count(c).status, "ok");
  EXPECT_EQ(device_.held, 1);
}

INSTANTIATE_TEST_SUITE_P(Counters, CountersFailingOnce, testing::Values("begin", "end", "values"));

TEST_F(DeviceCounters, StopsAfter100Passes) {
  device_.passes = 0;
  Counters c = counters();
  EXPECT_EQ(count(c).status, "CUPTI needs more than 100 passes");
  EXPECT_EQ(device_.begun, 100);
  EXPECT_EQ(device_.held, 0);
}

TEST_F(DeviceCounters, ReleasesCountersIfTheLaunchThrows) {
  Counters c = counters();
  EXPECT_THROW(c.count([] {}, [] { throw std::runtime_error("the kernel"); }), std::runtime_error);
  EXPECT_EQ(device_.held, 0);
}

/// On any machine: a profiler, or a reason for none.
TEST(Cupti, OpensOrReportsAnError) {
  try {
    EXPECT_NE(cupti::open()->chip(), "");
  } catch (const cupti::Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_NE(error.result(), 0);
  }
}

// --- Words

TEST(CounterGroups, AreParsedByName) {
  EXPECT_FALSE(parse_counter_groups({}).any());
  EXPECT_FALSE(parse_counter_groups({"none"}).any());
  const CounterGroups two = parse_counter_groups({"stalls", "occupancy"});
  EXPECT_TRUE(two.stalls && two.occupancy);
  EXPECT_FALSE(two.memory);
}

TEST(CounterGroups, RejectUnknownNames) {
  for (const auto& names : {std::vector<std::string>{"warps"}, {"none", "memory"}, {"memory", ""}}) try {
      parse_counter_groups(names);
      ADD_FAILURE();
    } catch (const UserError& error) {
      EXPECT_EQ(error.code(), Exit::usage);
    }
}

}  // namespace
}  // namespace occbench
