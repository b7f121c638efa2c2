// SPDX-License-Identifier: Apache-2.0
#include "harness/device/nvml.hpp"

#include <dlfcn.h>

#include <array>
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
  /// Calls `name(arguments...)`; false when the library lacks it or it did not succeed.
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

}  // namespace

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
    for (const auto& [bit, name] : reasons)
      if ((bits & bit) != 0) names += (names.empty() ? "" : "+") + std::string(name);
    out.throttle_reasons = names.empty() ? "none" : names;
  }
  return out;
}

}  // namespace occbench::nvml
