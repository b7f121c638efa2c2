// SPDX-License-Identifier: Apache-2.0
// An NVML for tests without a GPU: one device, which says what the variable FAKE_NVML tells at each call, as
// words "compute=PID:NAME:MIB", "graphics=...", "mps=...", "busy=PERCENT", "slowed=BITS", "errors=N", "xid=N"
// and "limit=MILLIWATTS".
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int timeout = 10;
int device;
int events;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct EventData {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

/// Calls `take` with what follows "key=" in each word that begins so; how many there were.
template <class Take>
int told(const std::string& key, const Take& take) {
  const char* const all = std::getenv("FAKE_NVML");
  std::istringstream words(all == nullptr ? "" : all);
  int found = 0;
  for (std::string word; words >> word;)
    if (word.starts_with(key + "=")) {
      take(word.substr(key.size() + 1));
      ++found;
    }
  return found;
}

template <class Number>
int number(const char* key, Number* out) {
  return told(key, [&](const std::string& value) { *out = static_cast<Number>(std::stoull(value)); }) > 0
             ? success
             : not_supported;
}

int list(const char* key, unsigned* count, ProcessInfo* infos) {
  unsigned found = 0;
  told(key, [&](const std::string& value) {
    const auto memory = value.rfind(':');
    infos[found++] = {static_cast<unsigned>(std::stoul(value)), std::stoull(value.substr(memory + 1)) << 20,
                      0, 0};
  });
  *count = found;
  return success;
}

}  // namespace

#define NVML extern "C" __attribute__((visibility("default"))) int

NVML nvmlInit_v2() { return success; }
NVML nvmlDeviceGetHandleByUUID(const char* uuid, void** found) {
  *found = &device;
  return std::strcmp(uuid, "GPU-none") == 0 ? not_supported : success;
}
NVML nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("compute", count, infos);
}
NVML nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("graphics", count, infos);
}
NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  return list("mps", count, infos);
}
NVML nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  bool found = false;
  for (const char* key : {"compute", "graphics", "mps"})
    told(key, [&](const std::string& value) {
      const auto first = value.find(':');
      if (std::stoul(value) != pid) return;
      const std::string whole =
          "/usr/bin/" + value.substr(first + 1, value.rfind(':') - first - 1) + " --word";
      std::strncpy(name, whole.c_str(), length);
      found = true;
    });
  return found ? success : not_supported;
}
NVML nvmlDeviceGetUtilizationRates(void*, unsigned* rates) { return number("busy", rates); }
NVML nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  return number("slowed", bits);
}
NVML nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return number("limit", milliwatts); }
NVML nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* count) {
  return number("errors", count);
}
NVML nvmlEventSetCreate(void** set) {
  *set = &events;
  return success;
}
NVML nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return success; }
NVML nvmlEventSetWait_v2(void*, EventData* data, unsigned) {
  data->type = 8;
  return number("xid", &data->data) == success ? success : timeout;
}
NVML nvmlEventSetFree(void*) { return success; }
