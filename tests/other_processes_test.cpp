// SPDX-License-Identifier: Apache-2.0
// Other processes on the GPU, by a fake NVML (fake_nvml.cpp).
#include "harness/measure/other_processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace occbench {
namespace {

void tell(const std::string& words) { setenv("FAKE_NVML", words.c_str(), 1); }

std::string users_of(const std::string& words) {
  tell(words);
  return other_gpu_users(nvml::Monitor("GPU-1"));
}

TEST(OtherGpuUsers, AreNoneOnAnIdleGpu) {
  EXPECT_EQ(users_of(""), "");  // a container in which nothing may be known
  EXPECT_EQ(users_of("busy=0"), "");
  EXPECT_EQ(users_of("busy=5"), "");
}

TEST(OtherGpuUsers, ExcludeThisProcessAndTheMpsServer) {
  EXPECT_EQ(users_of("compute=" + std::to_string(getpid()) + ":occbench:500"), "");
  EXPECT_EQ(users_of("compute=17:nvidia-cuda-mps-server:30"), "");
}

TEST(OtherGpuUsers, AreListedOnceAcrossNvmlLists) {
  EXPECT_EQ(users_of("compute=4711:python3:2048 graphics=4711:python3:2048 mps=4712:app:512 busy=97"),
            "2 other processes: 4711 python3 (2048 MiB), 4712 app (512 MiB)");
  EXPECT_EQ(users_of("graphics=12:Xorg:0"), "1 other process: 12 Xorg");
  EXPECT_EQ(users_of("compute=1:a:0 compute=2:b:0 compute=3:c:0 compute=4:d:0 compute=5:e:0"),
            "5 other processes: 1 a, 2 b, 3 c and 2 more");
}

TEST(OtherGpuUsers, HiddenUsersShowAsUtilization) { EXPECT_EQ(users_of("busy=97"), "busy 97 % of the time"); }

TEST(WaitForQuiet, ReturnsWhenQuietOrAtTheTimeout) {
  int asked = 0;
  int paused = 0;
  const auto pause = [&](const std::string& why) {
    EXPECT_EQ(why, "busy");
    ++paused;
  };
  const auto quiet_at_last = [&] { return std::string(++asked < 4 ? "busy" : ""); };
  EXPECT_EQ(wait_for_quiet(quiet_at_last, std::chrono::seconds(60), pause), "");
  EXPECT_EQ(paused, 3);
  EXPECT_EQ(wait_for_quiet([] { return std::string("busy"); }, std::chrono::seconds(0), pause), "busy");
  EXPECT_EQ(paused, 3);  // no timeout, no pause
}

TEST(OtherProcesses, AreNoneInAQuietRun) {
  tell("errors=3 busy=97 slowed=5");  // our own work, old errors; idle, and a power cap
  OtherProcesses others("GPU-1");
  others.poll();
  EXPECT_EQ(others.summary(), "");
  OtherProcesses blind("GPU-none");
  blind.poll();
  EXPECT_EQ(blind.summary(), "");
}

TEST(OtherProcesses, ReportsThoseAtStartAndNewOnes) {
  tell("compute=8:jupyter:100");
  OtherProcesses others("GPU-1");
  for (const char* words : {"compute=8:jupyter:100", "compute=8:jupyter:100 compute=9:train:4000", ""}) {
    tell(words);
    others.poll();
  }
  EXPECT_EQ(others.summary(),
            "1 other process on the GPU: 8 jupyter (100 MiB); 1 other process started during the run: 9 "
            "train (4000 "
            "MiB)");
}

TEST(OtherProcesses, CountsThrottlingAndErrors) {
  tell("errors=3");
  OtherProcesses others("GPU-1");
  for (const char* words : {"slowed=32", "slowed=36 xid=79", "slowed=128", "errors=5"}) {
    tell(words);
    others.poll();
  }
  EXPECT_EQ(others.summary(),
            "the driver reported Xid 79; 2 memory errors that ECC could not correct; clock lowered "
            "(hw_power_brake) in 1 of 4 polls; clock lowered (sw_thermal) in 2 of 4 polls");
}

TEST(NvmlFacts, ReportThePowerLimitInWatts) {
  tell("limit=700000 slowed=36");
  const nvml::Facts facts = nvml::facts("GPU-1");
  EXPECT_DOUBLE_EQ(facts.power_limit_w.value_or(0), 700);
  EXPECT_EQ(facts.throttle_reasons, "power_cap+sw_thermal");
  tell("");
  EXPECT_EQ(nvml::facts("GPU-1").power_limit_w, std::nullopt);
}

}  // namespace
}  // namespace occbench
