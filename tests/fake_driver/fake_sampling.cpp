// SPDX-License-Identifier: Apache-2.0
// PM sampling of the fake CUPTI: samples of 5 us within each kernel that ran while it was on.
// FAKE_COUNTERS: which metric is at 88 % ("tensor"); all others are at 10 %. FAKE_CUPTI=forbids, busy, old:
// the driver forbids counters, another tool has them, there is no PM sampling. overflows: more samples than
// room. clock: samples have another clock than records.
#include "tests/fake_driver/fake_sampling.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "harness/attach/preload/cupti_sampling.hpp"

using namespace occbench::attach::cupti;

namespace {

constexpr int success = 0, invalid = 1;
constexpr std::uint64_t sample_ns = 5'000, other_clock_ns = 2'300'000;
constexpr std::size_t max_samples = 768;

std::mutex mutex;
bool is_enabled = false, is_sampling = false;
std::uint64_t latest_ns = 0;        // of the device's clock
std::vector<std::uint64_t> starts;  // of samples
std::vector<std::string> configured;

bool is(const char* behaviour) {
  const char* const value = std::getenv("FAKE_CUPTI");
  return value != nullptr && std::strcmp(value, behaviour) == 0;
}

bool is_wrong(std::size_t size, std::size_t expected) { return size != expected; }

}  // namespace

void fake_sample(std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::lock_guard lock(mutex);
  latest_ns = end_ns;
  if (!is_sampling) return;
  for (std::uint64_t at = start_ns; at + sample_ns <= end_ns && starts.size() < max_samples; at += sample_ns)
    starts.push_back(at);
}

#define FAKE(Struct, name)                                                           \
  static int on_##name(Struct& p);                                                   \
  extern "C" __attribute__((visibility("default"))) int name(Struct* p) {            \
    const std::lock_guard lock(mutex);                                               \
    return is_wrong(p->size, sizeof *p - Struct::padding) ? invalid : on_##name(*p); \
  }                                                                                  \
  static int on_##name([[maybe_unused]] Struct& p)

extern "C" __attribute__((visibility("default"))) int cuptiGetTimestamp(std::uint64_t* now) {
  const std::lock_guard lock(mutex);
  *now = latest_ns;
  return success;
}
FAKE(Initialize, cuptiProfilerInitialize) { return success; }
FAKE(GetChipName, cuptiDeviceGetChipName) {
  p.chip = "GH100";
  return success;
}
/// As libnvperf, which is loaded by then: what its destructors have taken down must not be called.
struct Loaded {
  ~Loaded() { has_ended = true; }
  static inline bool has_ended = false;
};
FAKE(HostInitialize, cuptiProfilerHostInitialize) {
  static Loaded loaded;
  p.host = new int;
  return std::strcmp(p.chip, "GH100") == 0 ? success : static_cast<int>(unknown_chip);
}
FAKE(HostDeinitialize, cuptiProfilerHostDeinitialize) {
  if (Loaded::has_ended) std::abort();
  delete static_cast<int*>(p.host);
  return success;
}
/// As on GH100: metrics of Triage groups are of one pass together, others each of its own.
FAKE(HostAddMetrics, cuptiProfilerHostConfigAddMetrics) {
  configured.assign(p.names, p.names + p.count);
  for (const std::string& name : configured)
    if (name.find("TriageCompute.dram__") != std::string::npos) return invalid;
  return success;
}
FAKE(HostGetConfigSize, cuptiProfilerHostGetConfigImageSize) {
  p.bytes = 8;
  return success;
}
FAKE(HostGetConfig, cuptiProfilerHostGetConfigImage) { return success; }
FAKE(HostGetPasses, cuptiProfilerHostGetNumOfPasses) {
  p.passes = 1;
  if (configured.size() > 1)
    for (const std::string& name : configured)
      if (name.find("Triage") == std::string::npos) p.passes = 2;
  return success;
}
FAKE(HostEvaluate, cuptiProfilerHostEvaluateToGpuValues) {
  const char* const high = std::getenv("FAKE_COUNTERS");
  for (std::size_t i = 0; i < p.count; ++i)
    p.values[i] = high != nullptr && std::strstr(p.names[i], high) != nullptr ? 88 : 10;
  return success;
}
FAKE(SamplingEnable, cuptiPmSamplingEnable) {
  if (is("forbids")) return insufficient_privileges;
  if (is("busy") || is_enabled) return hardware_busy;
  is_enabled = true;
  p.sampler = &is_enabled;
  return success;
}
FAKE(SamplingDisable, cuptiPmSamplingDisable) {
  is_enabled = is_sampling = false;
  return success;
}
FAKE(SamplingConfigure, cuptiPmSamplingSetConfig) { return is_sampling ? invalid : success; }
FAKE(SamplingGetDataSize, cuptiPmSamplingGetCounterDataSize) {
  p.bytes = 64;
  return p.max_samples == max_samples ? success : invalid;
}
FAKE(SamplingClearData, cuptiPmSamplingCounterDataImageInitialize) {
  starts.clear();
  return success;
}
FAKE(SamplingStart, cuptiPmSamplingStart) {
  if (!is_enabled || is_sampling) return invalid;
  is_sampling = true;
  return success;
}
FAKE(SamplingStop, cuptiPmSamplingStop) {
  if (!is_sampling) return invalid;
  is_sampling = false;
  return success;
}
FAKE(SamplingDecode, cuptiPmSamplingDecodeData) {
  p.has_overflowed = is("overflows") ? 1 : 0;
  return success;
}
FAKE(SamplingGetDataInfo, cuptiPmSamplingGetCounterDataInfo) {
  p.completed = starts.size();
  return success;
}
FAKE(SamplingGetSample, cuptiPmSamplingCounterDataGetSampleInfo) {
  p.start_ns = starts.at(p.sample) + (is("clock") ? other_clock_ns : 0);
  p.end_ns = p.start_ns + sample_ns;
  return success;
}
