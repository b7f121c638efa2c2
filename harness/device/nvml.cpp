// SPDX-License-Identifier: Apache-2.0
#include "harness/device/nvml.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace occbench::nvml {

namespace {

// nvml.h is missing from pip-packaged toolkits; these few declarations are its stable C ABI
// (NVML API Reference, 'Device Queries').
using Handle = void*;
constexpr int success = 0;

class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    int (*init)() = nullptr;
    if (!load(init, "nvmlInit_v2") || init() != success) handle_ = nullptr;
  }
  explicit operator bool() const { return handle_ != nullptr; }

  template <class Function>
  bool load(Function*& function, const char* name) const {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }
  /// Calls `name(arguments...)`; false if the library lacks it or the call fails.
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    int (*function)(Arguments...) = nullptr;
    return load(function, name) && function(arguments...) == success;
  }

 private:
  void* handle_;
};

/// nvmlClocksEventReason* bits; 'idle' and 'application clocks' describe a setting, not a loss.
constexpr std::array<std::pair<unsigned long long, const char*>, 7> reasons{{
    {0x004, "power_cap"},
    {0x008, "hw_slowdown"},
    {0x010, "sync_boost"},
    {0x020, "sw_thermal"},
    {0x040, "hw_thermal"},
    {0x080, "hw_power_brake"},
    {0x100, "display_clocks"},
}};

const Library& nvml() {
  static const Library library;
  return library;
}

std::vector<std::string> names_of(unsigned long long bits) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : reasons)
    if ((bits & bit) != 0) names.emplace_back(name);
  return names;
}

struct ProcessInfo {  // nvmlProcessInfo_t, as the _v3 calls fill it
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct EventData {  // nvmlEventData_t
  Handle device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

constexpr unsigned long long xid_event = 0x8;  // nvmlEventTypeXidCriticalError

std::string name_of(unsigned pid) {
  std::array<char, 256> path{};
  if (!nvml().call("nvmlSystemGetProcessName", pid, path.data(), static_cast<unsigned>(path.size() - 1)))
    return "";
  const std::string whole = path.data();
  const std::string program = whole.substr(0, whole.find(' '));
  return program.substr(program.find_last_of('/') + 1);  // npos + 1 is 0
}

}  // namespace

Monitor::Monitor(const std::string& uuid) {
  const Library& library = nvml();
  if (!library.call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device_)) {
    device_ = nullptr;
    return;
  }
  if (!library.call("nvmlEventSetCreate", &events_))
    events_ = nullptr;
  else
    library.call("nvmlDeviceRegisterEvents", device_, xid_event, events_);
}

Monitor::~Monitor() {
  if (events_ != nullptr) nvml().call("nvmlEventSetFree", events_);
}

std::vector<Process> Monitor::others() const {
  std::vector<Process> found;
  if (device_ == nullptr) return found;
  for (const char* list :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetMPSComputeRunningProcesses_v3"}) {
    std::array<ProcessInfo, 256> infos{};
    auto count = static_cast<unsigned>(infos.size());
    if (!nvml().call(list, device_, &count, infos.data())) continue;
    for (const ProcessInfo& info : std::span(infos).first(std::min<std::size_t>(count, infos.size()))) {
      // -1 if NVML may not report the memory.
      const std::size_t bytes = info.used_memory == ~0ULL ? 0 : info.used_memory;
      Process each{.pid = info.pid, .name = name_of(info.pid), .memory_bytes = bytes};
      const bool known = info.pid == static_cast<unsigned>(getpid()) || std::ranges::count(found, each) > 0;
      if (!known && !each.name.starts_with("nvidia-cuda-mps")) found.push_back(std::move(each));
    }
  }
  return found;
}

std::optional<unsigned> Monitor::busy_percent() const {
  struct {
    unsigned gpu, memory;
  } rates{};
  using Rates = decltype(rates);
  if (device_ == nullptr || !nvml().call<Handle, Rates*>("nvmlDeviceGetUtilizationRates", device_, &rates))
    return {};
  return rates.gpu;
}

std::vector<std::string> Monitor::slowdown_reasons() const {
  unsigned long long bits = 0;
  if (device_ == nullptr || !nvml().call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits))
    return {};
  return names_of(bits);
}

std::optional<unsigned long long> Monitor::uncorrected_errors() const {
  unsigned long long count = 0;
  constexpr int uncorrected = 1;  // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
  constexpr int since_load = 0;   // NVML_VOLATILE_ECC
  if (device_ == nullptr ||
      !nvml().call("nvmlDeviceGetTotalEccErrors", device_, uncorrected, since_load, &count))
    return {};
  return count;
}

std::optional<unsigned long long> Monitor::xid() {
  EventData event{};
  if (events_ == nullptr || !nvml().call("nvmlEventSetWait_v2", events_, &event, 0U)) return {};
  return event.type == xid_event ? std::optional(event.data) : std::nullopt;
}

EnergyCounter::EnergyCounter(const std::string& uuid) {
  if (nvml().call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device_))
    nvml().load(read_, "nvmlDeviceGetTotalEnergyConsumption");
}

std::optional<double> EnergyCounter::joules() const {
  unsigned long long millijoules = 0;
  if (read_ == nullptr || read_(device_, &millijoules) != success) return {};
  return static_cast<double>(millijoules) * 1e-3;
}

Facts facts(const std::string& uuid) {
  const Library& library = nvml();
  Facts out;
  if (!library) return out;
  std::array<char, 96> text{};
  if (library.call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size())))
    out.driver_version = text.data();
  Handle device = nullptr;
  if (!library.call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device)) return out;
  unsigned current = 0;
  unsigned pending = 0;
  if (library.call("nvmlDeviceGetMigMode", device, &current, &pending)) out.mig = current != 0;
  unsigned milliwatts = 0;
  if (library.call("nvmlDeviceGetEnforcedPowerLimit", device, &milliwatts))
    out.power_limit_w = milliwatts * 1e-3;
  unsigned long long bits = 0;
  if (library.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &bits)) {
    std::string names;
    for (const std::string& name : names_of(bits)) names += (names.empty() ? "" : "+") + name;
    out.throttle_reasons = names.empty() ? "none" : names;
  }
  return out;
}

}  // namespace occbench::nvml
