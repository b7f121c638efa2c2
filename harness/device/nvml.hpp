// SPDX-License-Identifier: Apache-2.0
// The few facts that only NVML knows, loaded at run time: a machine without it lacks these facts and
// nothing else.
#pragma once

#include <optional>
#include <string>

namespace occbench::nvml {

struct Facts {
  std::string driver_version;                   ///< empty: NVML is not there
  std::optional<bool> mig;                      ///< multi-instance mode on
  std::optional<double> power_limit_w;          ///< the limit enforced now, watts
  std::optional<std::string> throttle_reasons;  ///< "none", or names joined by '+', as of this call
};

/// Facts of the device with this UUID ("GPU-..."). Never throws.
Facts facts(const std::string& uuid);

/// The energy that a device has drawn since the driver was loaded.
class EnergyCounter {
 public:
  explicit EnergyCounter(const std::string& uuid);
  /// J; nullopt where NVML or the device does not count it (before Volta). Moves in steps, some tens of
  /// milliseconds apart; a reading takes about a millisecond.
  [[nodiscard]] std::optional<double> joules() const;

 private:
  void* device_ = nullptr;
  int (*read_)(void* device, unsigned long long* millijoules) = nullptr;
};

}  // namespace occbench::nvml
